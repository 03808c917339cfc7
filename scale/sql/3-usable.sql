-- The common pieces are few and go to every worker, so long lists are dropped before any shuffle.
SELECT p.kind, p.key, p.cid
FROM posting p
WHERE NOT EXISTS (
    SELECT 1 FROM common c WHERE c.kind = p.kind AND c.key = p.key AND c.is_common = 1
)

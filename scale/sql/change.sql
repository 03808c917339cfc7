-- Of a run that goes on from another one: the usable postings that are new (1), and those that are
-- none any more (-1): of contents that are gone, and of pieces that have become common.
SELECT u.kind, u.key, u.cid, 1 AS sign
FROM usable u
WHERE NOT EXISTS (
    SELECT 1 FROM before_usable b WHERE b.kind = u.kind AND b.key = u.key AND b.cid = u.cid
)
UNION ALL
SELECT b.kind, b.key, b.cid, -1 AS sign
FROM before_usable b
WHERE NOT EXISTS (
    SELECT 1 FROM usable u WHERE u.kind = b.kind AND u.key = b.key AND u.cid = b.cid
)

-- The changes of a run that continues another one: new usable postings (1) and former ones (-1).
-- Former postings are those of vanished contents, and of pieces that have become common.
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

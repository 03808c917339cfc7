-- For each content and each level from its own on: the number of its samples of at least that level
-- that are certainly not ignored. A sample has 32 bits, and its level is 3 and its leading zeros.
WITH content AS (
    SELECT cid, MIN(level) AS own, MIN(size) AS bytes FROM contents GROUP BY cid
), whole AS (
    SELECT part AS cid, 1 AS is_whole FROM parts WHERE role IN (3, 4) AND part IS NOT NULL
    GROUP BY part
), sample AS (
    SELECT p.cid, CASE WHEN c.key IS NULL THEN 1 ELSE 0 END AS is_rare, CASE
        WHEN p.key >= 2147483648 THEN 3
        WHEN p.key >= 1073741824 THEN 4
        WHEN p.key >= 536870912 THEN 5
        WHEN p.key >= 268435456 THEN 6
        WHEN p.key >= 134217728 THEN 7
        WHEN p.key >= 67108864 THEN 8
        WHEN p.key >= 33554432 THEN 9
        WHEN p.key >= 16777216 THEN 10
        WHEN p.key >= 8388608 THEN 11
        WHEN p.key >= 4194304 THEN 12
        WHEN p.key >= 2097152 THEN 13
        WHEN p.key >= 1048576 THEN 14
        WHEN p.key >= 524288 THEN 15
        WHEN p.key >= 262144 THEN 16
        WHEN p.key >= 131072 THEN 17
        WHEN p.key >= 65536 THEN 18
        WHEN p.key >= 32768 THEN 19
        WHEN p.key >= 16384 THEN 20
        WHEN p.key >= 8192 THEN 21
        WHEN p.key >= 4096 THEN 22
        WHEN p.key >= 2048 THEN 23
        WHEN p.key >= 1024 THEN 24
        WHEN p.key >= 512 THEN 25
        WHEN p.key >= 256 THEN 26
        WHEN p.key >= 128 THEN 27
        WHEN p.key >= 64 THEN 28
        WHEN p.key >= 32 THEN 29
        WHEN p.key >= 16 THEN 30
        WHEN p.key >= 8 THEN 31
        WHEN p.key >= 4 THEN 32
        WHEN p.key >= 2 THEN 33
        WHEN p.key >= 1 THEN 34
        ELSE 35 END AS level
    FROM posting p LEFT JOIN common c ON c.kind = p.kind AND c.key = p.key
    WHERE p.kind = 1
), counted AS (
    SELECT cid, level, COUNT(*) AS samples, SUM(is_rare) AS rare FROM sample GROUP BY cid, level
), levels AS (
    SELECT DISTINCT own AS level FROM content
)
SELECT n.cid, l.level, MAX(n.own) AS own, MAX(n.bytes) AS bytes,
       CAST(SUM(CASE WHEN s.level >= l.level THEN s.rare ELSE 0 END) AS BIGINT) AS rare,
       CASE WHEN 2 * SUM(s.samples - s.rare) >= SUM(s.samples) THEN 1 ELSE 0 END AS is_header,
       CASE WHEN MAX(w.is_whole) = 1 THEN 1 ELSE 0 END AS is_whole
FROM content n
JOIN levels l ON l.level >= n.own
LEFT JOIN counted s ON s.cid = n.cid
LEFT JOIN whole w ON w.cid = n.cid
GROUP BY n.cid, l.level

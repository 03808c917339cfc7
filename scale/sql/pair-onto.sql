-- The earlier pairs and the changes: new postings with all present ones, and former postings with
-- all earlier ones. A pair with two new ends is counted twice so, and subtracted once.
SELECT a, b, CAST(SUM(fingerprints) AS BIGINT) AS fingerprints,
       CAST(SUM(chunks) AS BIGINT) AS chunks
FROM (
    SELECT a, b, fingerprints, chunks FROM before_pair
    UNION ALL
    SELECT CASE WHEN x.cid < u.cid THEN x.cid ELSE u.cid END AS a,
           CASE WHEN x.cid < u.cid THEN u.cid ELSE x.cid END AS b,
           x.kind AS fingerprints, 1 - x.kind AS chunks
    FROM change x JOIN usable u ON u.kind = x.kind AND u.key = x.key
    WHERE x.sign = 1 AND u.cid <> x.cid
    UNION ALL
    SELECT CASE WHEN x.cid < u.cid THEN x.cid ELSE u.cid END AS a,
           CASE WHEN x.cid < u.cid THEN u.cid ELSE x.cid END AS b,
           -x.kind AS fingerprints, x.kind - 1 AS chunks
    FROM change x JOIN before_usable u ON u.kind = x.kind AND u.key = x.key
    WHERE x.sign = -1 AND u.cid <> x.cid
    UNION ALL
    SELECT x.cid AS a, y.cid AS b, -x.sign * x.kind AS fingerprints, x.sign * (x.kind - 1) AS chunks
    FROM change x JOIN change y ON y.kind = x.kind AND y.key = x.key AND y.sign = x.sign
    WHERE x.cid < y.cid
) each_piece
GROUP BY a, b
HAVING SUM(fingerprints) + SUM(chunks) > 0

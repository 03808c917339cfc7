-- No list is longer than the degree, so a piece makes at most half of its square of rows.
SELECT a.cid AS a, b.cid AS b,
       COUNT(CASE WHEN a.kind = 1 THEN 1 END) AS fingerprints,
       COUNT(CASE WHEN a.kind = 0 THEN 1 END) AS chunks
FROM usable a JOIN usable b ON a.kind = b.kind AND a.key = b.key AND a.cid < b.cid
GROUP BY a.cid, b.cid

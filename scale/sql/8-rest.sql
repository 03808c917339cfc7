-- The sums over the partners of each content that are not candidates: with the links they add up.
SELECT CASE WHEN e.which = 1 THEN j.a ELSE j.b END AS cid,
       CAST(SUM(j.fingerprints) AS BIGINT) AS fingerprints, CAST(SUM(j.chunks) AS BIGINT) AS chunks
FROM judged j CROSS JOIN (SELECT 1 AS which UNION ALL SELECT 2 AS which) e
WHERE j.is_candidate = 0
GROUP BY CASE WHEN e.which = 1 THEN j.a ELSE j.b END

-- What two documents have in common counts as often as the one that has it less often.
SELECT a.doc AS a, b.doc AS b, CAST(SUM(LEAST(a.times, b.times)) AS BIGINT) AS common
FROM chunk a JOIN chunk b ON a.key = b.key AND a.doc < b.doc
GROUP BY a.doc, b.doc

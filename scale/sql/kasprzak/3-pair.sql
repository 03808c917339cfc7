-- A common chunk of two documents counts as often as the one with fewer has it.
SELECT a.doc AS a, b.doc AS b, CAST(SUM(LEAST(a.times, b.times)) AS BIGINT) AS common
FROM chunk a JOIN chunk b ON a.key = b.key AND a.doc < b.doc
GROUP BY a.doc, b.doc

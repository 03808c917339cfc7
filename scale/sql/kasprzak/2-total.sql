SELECT doc, CAST(SUM(times) AS BIGINT) AS pieces
FROM chunk
GROUP BY doc

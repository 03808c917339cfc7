-- Kasprzak et al. 2008: the sorted index of chunks, with how often each document has one.
SELECT key, doc, CAST(SUM(times) AS BIGINT) AS times
FROM feature
GROUP BY key, doc

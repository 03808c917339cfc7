-- Kasprzak et al. 2008: the sorted index of chunks, with the number of times in each document.
SELECT key, doc, CAST(SUM(times) AS BIGINT) AS times
FROM feature
GROUP BY key, doc

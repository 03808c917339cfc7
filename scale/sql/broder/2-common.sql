-- "Common shingles" are in more than so many documents, and say nothing.
SELECT s.key, COUNT(*) AS documents
FROM shingle s CROSS JOIN terms t
GROUP BY s.key
HAVING COUNT(*) > MAX(t.degree)

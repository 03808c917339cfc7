-- "Common shingles" are in more documents than the degree, and are ignored.
SELECT s.key, COUNT(*) AS documents
FROM shingle s CROSS JOIN terms t
GROUP BY s.key
HAVING COUNT(*) > MAX(t.degree)

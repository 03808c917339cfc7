-- Pieces that more than a sixteenth of the degree have. Those that more than the degree have are
-- common and nominate no pair.
SELECT p.kind, p.key, COUNT(*) AS contents,
       CASE WHEN COUNT(*) > MAX(t.degree) THEN 1 ELSE 0 END AS is_common
FROM posting p CROSS JOIN terms t
GROUP BY p.kind, p.key
HAVING COUNT(*) * 16 > MAX(t.degree)

-- The size of each sketch without common shingles.
SELECT doc, COUNT(*) AS pieces
FROM usable
GROUP BY doc

-- Phase 3: <document, document, count of common shingles>.
SELECT a.doc AS a, b.doc AS b, COUNT(*) AS common
FROM usable a JOIN usable b ON a.key = b.key AND a.doc < b.doc
GROUP BY a.doc, b.doc

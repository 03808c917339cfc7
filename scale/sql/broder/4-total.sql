-- How large each sketch is without what is common.
SELECT doc, COUNT(*) AS pieces
FROM usable
GROUP BY doc

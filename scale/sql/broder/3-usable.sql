SELECT s.key, s.doc
FROM shingle s
WHERE NOT EXISTS (SELECT 1 FROM common c WHERE c.key = s.key)

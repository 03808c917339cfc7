-- For each content the first file by name that has it and that workers can read. `files` has the
-- catalogues whose files they see, by the numbers of their folders.
SELECT f.cid, f.root, MIN(f.path) AS path, MIN(c.digest) AS digest
FROM files f
JOIN (SELECT cid, MIN(root) AS root FROM files WHERE kind = 1 GROUP BY cid) one
  ON f.cid = one.cid AND f.root = one.root
JOIN (SELECT cid, MIN(digest) AS digest FROM contents GROUP BY cid) c ON f.cid = c.cid
WHERE f.kind = 1
GROUP BY f.cid, f.root

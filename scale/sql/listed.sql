-- The links whose two contents workers can read, in the order of names. Similar files are close to
-- each other, so each is read few times.
SELECT l.a, l.b, x.digest AS digest_a, x.root AS root_a, x.path AS path_a,
       y.digest AS digest_b, y.root AS root_b, y.path AS path_b
FROM link l JOIN place x ON x.cid = l.a JOIN place y ON y.cid = l.b
ORDER BY x.root, x.path, y.root, y.path

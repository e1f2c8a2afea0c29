-- SPDX-License-Identifier: BSD-3-Clause
--
-- The session that tests/real/run.sh records with sqlite3: tables, an index made and used,
-- a join, groups, an update in a transaction, a sort.
CREATE TABLE station(id INTEGER PRIMARY KEY, name TEXT, height REAL);
CREATE TABLE reading(id INTEGER PRIMARY KEY, station INTEGER, hour INTEGER, value REAL);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO station SELECT i, 'station ' || (i * 37 % 200), i * 1.5 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO reading SELECT i, i * 7919 % 200 + 1, i / 200, (i * 104729 % 1000) / 10.0 FROM n;
COMMIT;
CREATE INDEX reading_station ON reading(station, hour);
SELECT count(*), round(sum(value), 1) FROM reading WHERE station BETWEEN 20 AND 29 AND hour < 50;
SELECT name, count(*), round(avg(value), 3) FROM station JOIN reading ON reading.station = station.id
  WHERE height > 280 GROUP BY station.id ORDER BY name;
UPDATE reading SET value = value + 0.5 WHERE hour % 10 = 3;
DELETE FROM reading WHERE station % 17 = 0;
SELECT station, hour, value FROM reading ORDER BY value DESC, hour, station LIMIT 5;
SELECT count(*), round(sum(value), 1) FROM reading;
PRAGMA integrity_check;

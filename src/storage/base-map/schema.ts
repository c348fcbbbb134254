/** 'MPBX', the application id of MBTiles. */
export const MBTILES_ID = 0x4d504258

/**
 * Tables of a base file. `tiles` is a view, as MBTiles allows: equal tiles, such as those of the open sea, are
 * stored once. Rows count from the south. `places` and `place_keys` are not of MBTiles; its readers skip them.
 *
 * @see https://github.com/mapbox/mbtiles-spec/blob/master/1.3/spec.md
 */
export const BASE_SCHEMA = `
CREATE TABLE metadata (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE images (tile_id TEXT NOT NULL PRIMARY KEY, tile_data BLOB NOT NULL);
CREATE TABLE map (
  zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL, tile_id TEXT NOT NULL,
  PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID;
CREATE VIEW tiles AS
  SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column, map.tile_row AS tile_row,
         images.tile_data AS tile_data
  FROM map JOIN images ON images.tile_id = map.tile_id;
CREATE TABLE places (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, latin TEXT NOT NULL, kind TEXT NOT NULL, rank INTEGER NOT NULL,
  population INTEGER NOT NULL, lng INTEGER NOT NULL, lat INTEGER NOT NULL, west INTEGER NOT NULL,
  south INTEGER NOT NULL, east INTEGER NOT NULL, north INTEGER NOT NULL) STRICT;
CREATE TABLE place_keys (
  rank INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (rank, key, place)) STRICT, WITHOUT ROWID;
`

/** Names as they are found, before those of one place are joined. On disk when they are many. */
export const NAMES_SCHEMA = `
CREATE TEMP TABLE names (
  name TEXT NOT NULL, latin TEXT NOT NULL, others TEXT NOT NULL, kind TEXT NOT NULL, rank INTEGER NOT NULL,
  population INTEGER NOT NULL, lng INTEGER NOT NULL, lat INTEGER NOT NULL, west INTEGER NOT NULL,
  south INTEGER NOT NULL, east INTEGER NOT NULL, north INTEGER NOT NULL, weight INTEGER NOT NULL);
`

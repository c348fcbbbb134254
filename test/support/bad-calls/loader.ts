import { feature } from '../tables.js'
import type { BadCalls } from './types.js'

const INT = { udt_name: 'int4' }
const define = (more: object) => ({
  data_name: 'new',
  record_def: { k: INT },
  unique_columns: ['k'],
  ...more,
})
const add = (records: unknown, more: object = {}) => ({ data_name: 'x', record_set: records, ...more })
const good = feature([139, 35], { k: 100 })
const file = { data_name: 'f', prefix_id: 1, path_id: 'a', file_name: 'b.jpg' }

/** Rule of rows that are thinned. */
const THIN = { after_days: 2, interval_s: 60, by: [], keep: 'first' }

/**
 * `x` has the columns k int4 and name varchar(5) or null, key k and one row; `cited` is cited; `f` has a
 * file.
 */
export const LOADER_BAD_CALLS: BadCalls = {
  'loaderwebapi.alter_loader': [
    [{ data_name: 'x', add_columns: {} }, 'INVALID_PARAMS', /add_columns: found no column/],
    [{ data_name: 'x', add_columns: { k: INT } }, 'INVALID_PARAMS', /add_columns/],
    [
      { data_name: 'x', add_columns: { new: { ...INT, is_nullable: false } } },
      'INVALID_PARAMS',
      /expected true/,
    ],
    [{ data_name: 'nobody', add_columns: { new: INT } }, 'UNKNOWN_TABLE', /nobody/],
  ],
  'loaderwebapi.set_retention': [
    [{ data_name: 'nobody', age_days: 1 }, 'UNKNOWN_TABLE', /nobody/],
    [{ data_name: 'x', age_days: 0 }, 'INVALID_PARAMS', /age_days/],
    [{ data_name: 'x', max_rows: 0 }, 'INVALID_PARAMS', /max_rows/],
    [{ data_name: 'x', thin: { ...THIN, keep: 'middle' } }, 'INVALID_PARAMS', /thin/],
    [
      { data_name: 'x', thin: { ...THIN, by: ['nothing'] } },
      'INVALID_PARAMS',
      /expected a column of the table/,
    ],
    [{ data_name: 'x', thin: { ...THIN, by: ['start_datetime'] } }, 'INVALID_PARAMS', /names a series/],
    [{ data_name: 'x', thin: { ...THIN, by: ['location'] } }, 'INVALID_PARAMS', /expected a plain value/],
    [{ data_name: 'x', age_days: 1, thin: THIN }, 'INVALID_PARAMS', /expected less than age_days/],
    [
      { data_name: 'x', thin: { after_days: 2, interval_s: 60, by: [], into: 'x' } },
      'INVALID_PARAMS',
      /expected another one/,
    ],
    [
      { data_name: 'x', thin: { after_days: 2, interval_s: 60, by: [], into: 'X' } },
      'ALREADY_REGISTERED',
      /case of letters/,
    ],
  ],
  'loaderwebapi.list_retention': [[{ data_name: 'x' }, 'INVALID_PARAMS', /data_name/]],
  'loaderwebapi.register_loader': [
    [define({ data_name: '' }), 'INVALID_PARAMS', /data_name/],
    [define({ data_name: 'a/b' }), 'INVALID_PARAMS', /data_name/],
    [define({ data_name: 'x'.repeat(64) }), 'INVALID_PARAMS', /data_name/],
    [define({ data_name: 'x' }), 'ALREADY_REGISTERED', /x/],
    [define({ record_def: [] }), 'INVALID_PARAMS', /record_def/],
    [define({ record_def: { k: { udt_name: 'int' } } }), 'INVALID_PARAMS', /record_def\.k\.udt_name/],
    [define({ record_def: { k: INT, location: INT } }), 'INVALID_PARAMS', /record_def\.location/],
    [
      define({ record_def: { k: INT, s: { udt_name: 'int4', length: 3 } } }),
      'INVALID_PARAMS',
      /record_def\.s/,
    ],
    [
      define({ record_def: { k: { udt_name: 'int4', column_default: 'one' } } }),
      'INVALID_PARAMS',
      /record_def\.k/,
    ],
    [define({ record_def: { k: { udt_name: 'int4', need_crypto: true } } }), 'INVALID_PARAMS', /need_crypto/],
    [define({ record_def: { k: INT, p: { udt_name: 'file' } } }), 'INVALID_PARAMS', /record_def\.p/],
    [define({ unique_columns: [] }), 'INVALID_PARAMS', /unique_columns/],
    [define({ unique_columns: ['nobody'] }), 'INVALID_PARAMS', /unique_columns/],
  ],
  'loaderwebapi.init_record': [
    [{ data_name: 'x' }, 'INVALID_PARAMS', /record_set_size/],
    [{ data_name: 'x', record_set_size: -1 }, 'INVALID_PARAMS', /record_set_size/],
    [{ data_name: 'x', record_set_size: 10_001 }, 'INVALID_PARAMS', /record_set_size/],
    [{ data_name: 'x', record_set_size: '5' }, 'INVALID_PARAMS', /record_set_size/],
    [{ data_name: 'nobody', record_set_size: 1 }, 'UNKNOWN_TABLE', /nobody/],
  ],
  'loaderwebapi.add_record': [
    [{ data_name: 'x' }, 'INVALID_PARAMS', /record_set/],
    [add({}), 'INVALID_PARAMS', /record_set/],
    [add([good], { options: { if_exists: 'replace' } }), 'INVALID_PARAMS', /if_exists/],
    [add([good], { data_name: 'nobody' }), 'UNKNOWN_TABLE', /nobody/],
    [add([good, 5]), 'BAD_RECORD', /record_set\[1\]/],
    [add([good, feature([139, 35], { k: 'x' })]), 'BAD_RECORD', /record_set\[1\]: k/],
    [add([good, feature([139, 35], { k: 2 ** 31 })]), 'BAD_RECORD', /record_set\[1\]: k/],
    [add([good, feature([139, 35], { k: null })]), 'BAD_RECORD', /record_set\[1\]: k/],
    [add([good, feature([139, 35], { k: 101, name: 'too long' })]), 'BAD_RECORD', /record_set\[1\]: name/],
    [add([good, feature([139, 35], { k: 101, more: 1 })]), 'BAD_RECORD', /record_set\[1\].*more/],
    [
      add([good, { type: 'Feature', geometry: { type: 'Point' }, properties: { k: 101 } }]),
      'BAD_RECORD',
      /record_set\[1\]/,
    ],
    [
      add([good, feature([139, 35], { k: 101, start_datetime: '2025-02-30' })]),
      'BAD_RECORD',
      /record_set\[1\]: start_datetime/,
    ],
    [
      add([good, feature([139, 35], { k: 101, start_datetime: '2025-01-02', end_datetime: '2025-01-01' })]),
      'BAD_RECORD',
      /record_set\[1\]/,
    ],
    [
      add([good, feature([139, 35], { k: 1 })], { options: { if_exists: 'error' } }),
      'RECORD_EXISTS',
      /record_set\[1\]/,
    ],
  ],
  'loaderwebapi.get_loader_list': [
    [{ data_name: 'x' }, 'INVALID_PARAMS', /data_name/],
    [['x'], 'INVALID_PARAMS', /found an array of 1, expected an object/],
  ],
  'loaderwebapi.drop_loader': [
    [{}, 'INVALID_PARAMS', /data_name/],
    [{ data_name: 7 }, 'INVALID_PARAMS', /data_name/],
    [{ data_name: 'nobody' }, 'UNKNOWN_TABLE', /nobody/],
    [{ data_name: "x'; DROP TABLE x_tbl_0 --" }, 'UNKNOWN_TABLE', /DROP/],
    [{ data_name: 'cited' }, 'TABLE_CITED', /cited/],
  ],
  'getfileapi.get_file': [
    [{ ...file, prefix_id: '1' }, 'INVALID_PARAMS', /prefix_id/],
    [{ ...file, path_id: 7 }, 'INVALID_PARAMS', /path_id/],
    [{ ...file, data_name: 'nobody' }, 'UNKNOWN_TABLE', /nobody/],
    [{ ...file, prefix_id: 2 }, 'UNKNOWN_FILE', /./],
    [{ ...file, path_id: '..' }, 'UNKNOWN_FILE', /./],
    [{ ...file, file_name: '../../../key' }, 'UNKNOWN_FILE', /./],
    [{ ...file, data_name: 'x' }, 'UNKNOWN_FILE', /./],
  ],
}

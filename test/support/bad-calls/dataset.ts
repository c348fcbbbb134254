import type { BadCalls } from './types.js'

const column = (column_name: string, data_type = 'int') => ({ column_name, data_type })
const create = (more: object) => ({ dataset_name: 'new', columns: [column('k')], ...more })
const put = (records: unknown, more: object = {}) => ({ dataset_name: 'd', records, ...more })

/**
 * `d` has the columns k int, the key, and name varchar(5), and the row 1; the citation `c` is of it. More in
 * test/api/dataset.
 */
export const DATASET_BAD_CALLS: BadCalls = {
  'dataset.create': [
    [create({ dataset_name: 'a b' }), 'INVALID_PARAMS', /dataset_name/],
    [create({ columns: [] }), 'INVALID_PARAMS', /columns/],
    [create({ columns: [column('k', 'integer(3)')] }), 'INVALID_PARAMS', /columns\[0\]/],
    [create({ columns: [column('k'), column('k')] }), 'INVALID_PARAMS', /columns\[1\]/],
    [create({ key_columns: ['nobody'] }), 'INVALID_PARAMS', /key_columns/],
    [create({ dataset_name: 'd' }), 'ALREADY_EXISTS', /d already/],
  ],
  'dataset.alter': [
    [{ dataset_name: 'd', add_columns: [] }, 'INVALID_PARAMS', /add_columns/],
    [{ dataset_name: 'd', add_columns: [column('a b')] }, 'INVALID_PARAMS', /add_columns\[0\]/],
    [{ dataset_name: 'nobody', add_columns: [column('new')] }, 'UNKNOWN_DATASET', /nobody/],
  ],
  'dataset.delete': [
    [{ dataset_name: 7 }, 'INVALID_PARAMS', /dataset_name/],
    [{ dataset_name: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
    [{ dataset_name: 'c' }, 'UNKNOWN_DATASET', /"c"/],
  ],
  'dataset.list': [
    [{ limit: -1 }, 'INVALID_PARAMS', /limit/],
    [{ conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
    [{ order: 'nobody' }, 'BAD_CONDITION', /nobody/],
  ],
  'dataset.get_columns': [
    [{ dataset_label: 7 }, 'INVALID_PARAMS', /dataset_label/],
    [{ dataset_label: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
  ],
  'dataset.citation.create': [
    [{ citation_label: 'a b', source: 'd' }, 'INVALID_PARAMS', /citation_label/],
    [{ citation_label: 'new' }, 'INVALID_PARAMS', /source/],
    [{ citation_label: 'new', source: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
  ],
  'dataset.citation.list': [
    [{ offset: 0.5 }, 'INVALID_PARAMS', /offset/],
    [{ conds: { '=': ['id', 'x'] } }, 'BAD_CONDITION', /conds/],
  ],
  'dataset.citation.delete': [
    [{ citation_label: 7 }, 'INVALID_PARAMS', /citation_label/],
    [{ citation_label: 'nobody' }, 'UNKNOWN_CITATION', /nobody/],
    [{ citation_label: 'd' }, 'UNKNOWN_CITATION', /"d"/],
  ],
  'dataset.record.put': [
    [put([[9, 'a'], { k: 1 }]), 'INVALID_PARAMS', /records\[1\]/],
    [put([[9, 'a']], { on_conflict: 'replace' }), 'INVALID_PARAMS', /on_conflict/],
    [put([[9, 'a']], { dataset_name: 'nobody' }), 'UNKNOWN_DATASET', /nobody/],
    [
      put([
        [9, 'a'],
        ['x', 'a'],
      ]),
      'BAD_RECORD',
      /records?\[1\]/,
    ],
    [
      put([
        [9, 'a'],
        [10, 'too long'],
      ]),
      'BAD_RECORD',
      /records?\[1\]/,
    ],
    [put([[9, 'a'], [10]]), 'BAD_RECORD', /records?\[1\]/],
    [
      put([
        [9, 'a'],
        [1, 'b'],
      ]),
      'RECORD_EXISTS',
      /./,
    ],
  ],
  'dataset.record.delete': [
    [{ dataset_name: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
    [{ dataset_name: 'd', condition: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
    [{ dataset_name: 'd', condition: 'k = 1' }, 'BAD_CONDITION', /condition/],
  ],
  'dataset.record.get': [
    [{ citation_label: 'nobody' }, 'UNKNOWN_CITATION', /nobody/],
    [{ citation_label: 'c', limit: 'all' }, 'INVALID_PARAMS', /limit/],
    [{ citation_label: 'c', columns: ['nobody'] }, 'INVALID_PARAMS', /nobody/],
    [{ citation_label: 'c', condition: { like: ['k', 1] } }, 'BAD_CONDITION', /condition/],
    [{ citation_label: 'c', order: '-nobody' }, 'BAD_CONDITION', /nobody/],
  ],
  'dataset.record.list': [
    [{ dataset_label: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
    [{ dataset_label: 'd', limit: 'all' }, 'INVALID_PARAMS', /limit/],
    [{ dataset_label: 'd', columns: ['nobody'] }, 'INVALID_PARAMS', /nobody/],
    [{ dataset_label: 'd', condition: { like: ['k', 1] } }, 'BAD_CONDITION', /condition/],
    [{ dataset_label: 'd', order: '-nobody' }, 'BAD_CONDITION', /nobody/],
  ],
  'dataset.record.count': [
    [{ dataset_label: 7 }, 'INVALID_PARAMS', /dataset_label/],
    [{ dataset_label: 'nobody' }, 'UNKNOWN_DATASET', /nobody/],
    [{ dataset_label: 'd', condition: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
  ],
}

import t from 'tap'
import { changedValue, editText, putValue } from '../../../src/console/datasets/record-value.js'

const moment = { _type: 'datetime', val: '2026-01-01T00:00:00.000001+09:00' }

t.test('record form: values that were read are put again as they are', async (t) => {
  for (const [value, put, text] of [
    [null, null, ''],
    [undefined, null, ''],
    [1.5, 1.5, '1.5'],
    ['1.50', '1.50', '1.50'],
    [false, false, 'false'],
    [moment, moment.val, moment.val],
    [
      { type: 'Point', coordinates: [1, 2] },
      { type: 'Point', coordinates: [1, 2] },
      '{"type":"Point","coordinates":[1,2]}',
    ],
  ]) {
    t.same(putValue(value), put)
    t.equal(editText(value), text)
  }
})

t.test('record form: typed text becomes a value of its column, or is sent as it is', async (t) => {
  for (const [data_type, text, value] of [
    ['bigint', '12', 12],
    ['bigint', '9007199254740993', '9007199254740993'],
    ['integer', 'twelve', 'twelve'],
    ['integer', ' ', ' '],
    ['double precision', '-0.25', -0.25],
    ['double precision', 'NaN', 'NaN'],
    ['numeric(6,2)', '1.50', '1.50'],
    ['boolean', 'TRUE', true],
    ['boolean', 'perhaps', 'perhaps'],
    ['text', '7', '7'],
    ['text', '', ''],
  ] as const)
    t.equal(changedValue({ data_type, nullable: false }, text), value, `${data_type} ${text}`)
  t.equal(changedValue({ data_type: 'text', nullable: true }, ''), null)
})

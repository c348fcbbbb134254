import t from 'tap'
import {
  badValue,
  isObject,
  parseJson,
  readDescription,
} from '../../../src/storage/formats/read-description.js'
import { columns } from '../../support/datasets.js'

t.test('parseJson: the error has the place and what was expected, in one line', async (t) => {
  t.same(parseJson('\uFEFF{"a":[1]}', 'x', 'an object'), { a: [1] })
  t.throws(() => parseJson('{"a":', 'x.json, line 2', 'an object'), {
    message: 'x.json, line 2: found no JSON (Unexpected end of JSON input), expected an object',
  })
  // the engine quotes the text, with its line ends
  t.throws(() => parseJson('a\n\nb', 'x', 'a value'), {
    message: /^x: found no JSON \(.+a b.+\), expected a value$/,
  })
})

t.test('isObject: neither an array nor null', async (t) => {
  t.same([{}, { a: 1 }, [], null, 'a', 1, undefined].map(isObject), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})

t.test('badValue: a long value is cut at 60 characters, an absent one is named', async (t) => {
  t.equal(badValue('x, a', undefined, 'a text').message, 'x, a: found nothing, expected a text')
  t.equal(badValue('x', 'y'.repeat(80), 'a number').message, `x: found "${'y'.repeat(59)}, expected a number`)
})

t.test(
  'readDescription: columns and key; files and rasters are plain bytes, no key is an empty one',
  async (t) => {
    const column = (data_type: string, nullable = false) => ({ column_name: data_type, data_type, nullable })
    const described = [column('file'), column('raster', true), column('integer')]
    t.same(readDescription({ columns: described }, 'x'), {
      columns: columns('file bytea', 'raster bytea?', 'integer int'),
      keyColumns: [],
    })
    t.same(readDescription({ columns: [], key_columns: ['a', 'b'] }, 'x'), {
      columns: [],
      keyColumns: ['a', 'b'],
    })
  },
)

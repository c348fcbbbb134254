import t from 'tap'
import { DATA_TYPE_NAMES, parseDataType } from '../../../src/storage/columns/data-type.js'
import { stateColumn } from '../../../src/storage/columns/state-column.js'

t.test('data_type: every name is known in any case and spacing', async (t) => {
  for (const name of DATA_TYPE_NAMES) {
    t.ok(parseDataType(name), name)
    t.same(parseDataType(`  ${name.toUpperCase().replace(' ', '   ')} `), parseDataType(name))
  }
})

t.test('data_type: arguments', async (t) => {
  t.match(parseDataType('varchar(20)'), { udtName: 'varchar', length: 20 })
  t.match(parseDataType('char'), { udtName: 'bpchar', length: 1 })
  t.match(parseDataType('bpchar'), { udtName: 'bpchar', length: null })
  t.match(parseDataType('numeric( 10 , 2 )'), { precision: 10, scale: 2 })
  t.match(parseDataType('numeric(10)'), { precision: 10, scale: 0 })
  t.match(parseDataType('geometry(geometry,3857)'), { geometryType: null, srid: 3857 })
  t.match(parseDataType('Geometry(LineStringZ)'), { geometryType: 'LineString', srid: 4326 })
})

t.test('data_type: what is none', async (t) => {
  const bad = [
    '',
    ' ',
    'strings',
    'int()',
    'int(4)',
    'varchar()',
    'varchar(-1)',
    'varchar(1.5)',
    'varchar(99999999999)',
    'varchar(1,2)',
    'numeric()',
    'numeric(0)',
    'numeric(1001)',
    'numeric(3,4)',
    'numeric(0,0)',
    'numeric(x,2)',
    'numeric(3,2,1)',
    'geometry()',
    'geometry(Sphere)',
    'geometry(Point,x)',
    'geometry(Point,0)',
    'geometry(Point,4326,1)',
    'timestamp(3)',
    'int; DROP TABLE x',
    'text)',
    '__proto__',
    'constructor',
  ]
  for (const text of bad) t.equal(parseDataType(text), undefined, text)
})

t.test(
  'data_type: a column prints its type as PostgreSQL does, and that text is the same type',
  async (t) => {
    for (const [text, printed = text] of [
      ['int', 'integer'],
      ['varchar(20)', 'character varying(20)'],
      ['varchar', 'character varying'],
      ['char', 'character(1)'],
      ['numeric'],
      ['numeric(10)', 'numeric(10,0)'],
      ['jsonb'],
      ['geometry'],
      ['geometry(Geometry,4326)', 'geometry'],
      ['geometry(Geometry,6677)'],
      ['geometry(Point)', 'geometry(Point,4326)'],
    ] as const) {
      const type = parseDataType(text)
      if (type === undefined) throw new Error(`no type ${text}`)
      t.equal(stateColumn({ name: 'c', type, isNullable: true }).typeText, printed)
      t.same(parseDataType(printed), type, printed)
    }
  },
)

t.test('geometry(Type): other types are refused by name, heights are welcome', async (t) => {
  const type = parseDataType('geometry(Point)')
  if (type === undefined) throw new Error('no type')
  const { type: column, rules } = stateColumn({ name: 'g', type, isNullable: false })
  const env = { timeZoneMin: 0, nowUs: 0n }
  t.ok(column.read('POINT Z (1 2 3)', rules, env) instanceof Uint8Array)
  t.match(column.read('MULTIPOINT((1 2))', rules, env), { found: 'a MultiPoint', expected: 'a Point' })
  t.match(column.read('GEOMETRYCOLLECTION EMPTY', rules, env), { found: 'a GeometryCollection' })
  t.match(column.read('nonsense', rules, env), { expected: /./ })
})

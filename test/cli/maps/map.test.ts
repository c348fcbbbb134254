import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createProgress } from '../../../src/cli/progress.js'
import { writeExtract } from '../../../src/demo/write-extract.js'
import { boxRing } from '../../support/boxes.js'
import { sketch } from '../../support/osm-fixture.js'
import { cli, startCli } from '../../support/run-cli.js'

const TOWN = sketch(
  ['A B C', '  D  '],
  [
    ['ABC', { highway: 'residential', name: '桜通り' }],
    ['BD', { highway: 'primary' }],
  ],
)

/** A folder with the extract town.osm.pbf in it. */
function folder(t: Test): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-cli-map-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  writeFileSync(path.join(dir, 'town.osm.pbf'), writeExtract(TOWN, { replicatedAtS: 1_600_000_000 }))
  return dir
}

t.test('map build: writes maps/NAME.graph of the data directory, twice the same bytes', async (t) => {
  const dir = folder(t)
  const built = await cli(dir, ['map', 'build', 'town.osm.pbf', '--data-dir', 'd'])
  t.equal(built.code, 0, built.stderr)
  const file = path.join(dir, 'd', 'maps', 'town.graph')
  t.match(built.stdout, `${file}: 4 junctions, 3 segments, 4 nodes, 6 arcs, 0.0 MB\nbuilt in `)
  t.match(built.stdout, /peak memory \d+ MB\n$/)
  t.equal(built.stderr, '', 'no bar where nobody looks')
  const bytes = readFileSync(file)
  const again = ['map', 'build', 'town.osm.pbf', '--data-dir', 'd']
  t.match(await cli(dir, again), {
    code: 1,
    stderr: /found the map .*town\.graph, expected a file that does not exist, or --force to replace it/,
  })
  t.equal((await cli(dir, [...again, '--force'])).code, 0)
  t.equal(Buffer.compare(readFileSync(file), bytes), 0)
  t.same(readdirSync(path.dirname(file)), ['town.graph'], 'nothing half-written is left')
})

t.test('map build: --output, --profile, --country, --area, --json', async (t) => {
  const dir = folder(t)
  const area = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [boxRing(9.99, 44.9, 10.0001, 45.1)] },
  }
  writeFileSync(
    path.join(dir, 'area.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: [area] }),
  )
  const argv = [
    'map',
    'build',
    'town.osm.pbf',
    '-o',
    'out.graph',
    '--country',
    'jp',
    '--area',
    'area.geojson',
    '--json',
  ]
  const built = await cli(dir, argv)
  t.equal(built.code, 0, built.stderr)
  t.match(JSON.parse(built.stdout), {
    file: path.join(dir, 'out.graph'),
    bytes: Number,
    seconds: Number,
    peakRssBytes: Number,
    segments: 1,
    left: { waysUsed: 2, waysOutside: 1 },
  })
  t.notOk(existsSync(path.join(dir, 'data')), 'no data directory is made that is not needed')
  const info = await cli(dir, ['map', 'info', 'out.graph', '--json'])
  t.match(JSON.parse(info.stdout), {
    name: 'out',
    profile: 'car',
    country: 'JP',
    area: area.geometry,
    builtBy: 'fieldgate 1.2.3',
  })
  const onFoot = await cli(dir, [
    'map',
    'build',
    'town.osm.pbf',
    '-o',
    'foot.graph',
    '--profile',
    'foot',
    '--json',
  ])
  t.equal(JSON.parse(onFoot.stdout).segments, 3)
})

t.test('map build: says what it left out; --report lists it by id', async (t) => {
  const dir = folder(t)
  const roads: Parameters<typeof sketch>[1] = [
    ['ABC', { highway: 'residential' }],
    ['BD', { highway: 'footway' }],
    ['CE', { highway: 'residential', access: 'no' }],
    ['FG', { highway: 'residential' }],
  ]
  const town = sketch(['A B C E', '  D  ', 'F G'], roads, { nodeTags: { B: { barrier: 'bollard' } } })
  writeFileSync(path.join(dir, 'town.osm.pbf'), writeExtract(town))
  const build = ['map', 'build', 'town.osm.pbf', '--force', '-o', 'x.graph', '--report', 'left.csv']
  const { code, stdout, stderr } = await cli(dir, build)
  t.equal(code, 0, stderr)
  const lines = [
    'left out:',
    '  1 ways of a class that this traveller does not use',
    '  1 ways closed to this traveller by access tags',
    '  1 barriers that this traveller cannot pass',
    '  2 roads without a connection to the main network (in the map, but second choice)\n',
  ]
  t.ok(stdout.endsWith(lines.join('\n')), stdout)
  t.same(readFileSync(path.join(dir, 'left.csv'), 'utf8').trim().split('\n').sort(), [
    'node,66,barriersClosed',
    'type,id,cause',
    'way,1,segmentsCutOff',
    'way,2,waysClosedByClass',
    'way,3,waysClosedByAccess',
  ])
  t.match((await cli(dir, ['map', 'info', 'x.graph'])).stdout, /^left out +1 ways closed to this traveller/m)
  const before = readdirSync(dir).sort()
  const failed = await cli(dir, [...build.slice(0, -1), 'no/such/left.csv'])
  t.match(failed, { code: 1, stderr: /--report: the folder .*no\/such does not exist/ })
  writeFileSync(path.join(dir, 'town.osm.pbf'), writeExtract(town).subarray(0, 200))
  t.equal((await cli(dir, build)).code, 1)
  t.same(readdirSync(dir).sort(), before, 'a build that fails leaves no report')
})

t.test('map build: --turn-costs, which map info tells and map check --against compares', async (t) => {
  const dir = folder(t)
  const street = { highway: 'residential' }
  const town = sketch(['A B C', '  D  '], [['ABC', street], ['BD', street]]) // biome-ignore format: pairs
  writeFileSync(path.join(dir, 'town.osm.pbf'), writeExtract(town))
  const build = (...options: string[]) => cli(dir, ['map', 'build', 'town.osm.pbf', ...options])
  for (const kind of ['none', 'signs', 'main', 'full']) {
    t.equal((await build('-o', `${kind}.graph`, '--turn-costs', kind)).code, 0)
    const { stdout } = await cli(dir, ['map', 'info', `${kind}.graph`])
    t.match(stdout, new RegExp(`^turn costs +${kind}$`, 'm'))
    t.equal((await cli(dir, ['map', 'check', `${kind}.graph`])).code, 0)
  }
  const { stdout } = await cli(dir, ['map', 'check', 'none.graph', '--against', 'full.graph'])
  t.match(stdout, 'turnCosts: none here, full there')
  t.match(stdout, 'turns with another price: 4\n', 'the two ways straight on cost nothing')
  const same = await cli(dir, ['map', 'check', 'full.graph', '--against', 'full.graph'])
  t.notMatch(same.stdout, 'another price')
  const onFoot = await build('--turn-costs', 'full', '--profile', 'foot', '-o', 'x.graph')
  t.match(onFoot, { code: 2, stderr: /--turn-costs: found full with --profile foot, expected none or/ })
  t.equal((await build('--turn-costs', 'none', '--profile', 'foot', '-o', 'x.graph')).code, 0)
  t.match(await build('--turn-costs', 'some'), {
    code: 2,
    stderr: /Allowed choices are none, signs, main, full/,
  })
})

t.test('map check --against: what differs between two builds', async (t) => {
  const dir = folder(t)
  const rows = ['A B C', '  D E', 'F G  ']
  const street = { highway: 'residential' }
  type Roads = Parameters<typeof sketch>[1]
  const build = async (name: string, roads: Roads, bans: number) => {
    const restrictions = [{ kind: 'no_right_turn', from: 0, via: 'B', to: 2 }].slice(0, bans)
    const file = path.join(dir, `${name}.osm.pbf`)
    writeFileSync(file, writeExtract(sketch(rows, roads, { restrictions })))
    await cli(dir, ['map', 'build', file, '-o', `${name}.graph`])
  }
  await build('old', [['AB', street], ['BC', street], ['BD', street], ['FG', street]], 1) // biome-ignore format: one line
  const faster = { ...street, maxspeed: '50' }
  const oneway = { ...street, oneway: 'yes' }
  await build('new', [['AB', street], ['BC', faster], ['BD', oneway], ['CE', street]], 0) // biome-ignore format: one line
  const check = async (...more: string[]) => await cli(dir, ['map', 'check', 'new.graph', ...more])
  t.match(JSON.parse((await check('--against', 'new.graph', '--json')).stdout), {
    ok: true,
    compared: { properties: {}, differences: [], turnsOnlyHere: 0, turnsOnlyThere: 0 },
  })
  const { compared } = JSON.parse((await check('--against', 'old.graph', '--json')).stdout)
  t.match(compared, { turnsOnlyHere: 0, turnsOnlyThere: 1 })
  t.same(compared.properties.restrictionsUsed, [0, 1])
  const found = compared.differences.map(({ kind, lengthM }: { kind: string; lengthM: number }) => [
    kind,
    Math.round(lengthM / 100),
  ])
  // 100 m north, 197 m east: CE both ways; FG both ways and DB; BC both ways
  t.same(found, [['only here', 2], ['only there', 5], ['speed', 4]]) // biome-ignore format: one line
  t.equal(Math.round(compared.sameM / 100), 5, 'AB both ways and BD')
  const text = (await check('--against', 'old.graph')).stdout
  t.match(text, /^ok: .*new\.graph\n/)
  t.match(text, /^0\.4 km: roads with another speed\n {2}197 m at 45\.00000, 10\.00250$/m)
  t.match(text, /^banned turns: 0 only here, 1 only there$/m)
  t.match(await check('--against', 'gone.graph'), { code: 1, stderr: /gone\.graph: the file does not exist/ })
})

t.test('map info: the properties of a map as text', async (t) => {
  const dir = folder(t)
  await cli(dir, ['map', 'build', 'town.osm.pbf', '-o', 'x.graph'])
  const { code, stdout } = await cli(dir, ['map', 'info', 'x.graph'])
  t.equal(code, 0)
  t.match(stdout, /^name +x$/m)
  t.match(stdout, /^profile +car$/m)
  t.match(stdout, /^network +4 junctions, 3 segments, 4 nodes, 6 arcs$/m)
  t.match(stdout, /^built from +town\.osm\.pbf, data of 2020-09-13T12:26:40Z$/m)
  t.match(stdout, /^sha256 +[0-9a-f]{64}$/m)
  t.match(stdout, /^data +© OpenStreetMap contributors, ODbL-1\.0$/m)
  t.match(stdout, /^area +\{"type":"Polygon"/m)
})

t.test('map check: ok, or every fault with exit code 1', async (t) => {
  const dir = folder(t)
  await cli(dir, ['map', 'build', 'town.osm.pbf', '-o', 'x.graph'])
  t.match(await cli(dir, ['map', 'check', 'x.graph']), {
    code: 0,
    stdout: `ok: ${path.join(dir, 'x.graph')}\n`,
  })
  const bytes = readFileSync(path.join(dir, 'x.graph'))
  const faults: [Uint8Array, RegExp][] = [
    [
      bytes.subarray(0, 500),
      /fieldgate: .*x\.graph: the map file is cut short: found 500 bytes, expected \d+\n$/,
    ],
    [
      Buffer.from('hello, this is something else entirely, and long enough'),
      /not a map file: found first bytes/,
    ],
    [flipped(bytes, bytes.length - 60), /the map file is damaged: the checksum of section \w+ is wrong\n$/],
  ]
  for (const [damaged, message] of faults) {
    writeFileSync(path.join(dir, 'x.graph'), damaged)
    const checked = await cli(dir, ['map', 'check', 'x.graph'])
    t.equal(checked.code, 1)
    t.match(checked.stderr, message)
    t.equal(checked.stdout, '')
  }
  const told = JSON.parse((await cli(dir, ['map', 'check', 'x.graph', '--json'])).stdout)
  t.match(told, { ok: false, faults: [/checksum/] })
})

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

t.test(
  'map list: the maps of the data directory and of routing.maps; broken ones are reported',
  async (t) => {
    const dir = folder(t)
    const list = async (...more: string[]) => await cli(dir, ['map', 'list', '--data-dir', 'd', ...more])
    t.match(await list(), { code: 0, stdout: '', stderr: '' })
    await cli(dir, ['map', 'build', 'town.osm.pbf', '--data-dir', 'd'])
    await cli(dir, ['map', 'build', 'town.osm.pbf', '-o', 'other.graph'])
    writeFileSync(
      path.join(dir, 'c.json'),
      JSON.stringify({ routing: { maps: ['other.graph', 'none.graph'] } }),
    )
    t.match(await list(), { code: 0, stdout: /^town {2}car {2}4 nodes .*town\.graph\n$/ })
    const all = await list('--config', 'c.json', '--json')
    t.equal(all.code, 1)
    t.match(JSON.parse(all.stdout), [
      { name: 'town', nodes: 4, osmTimestamp: '2020-09-13T12:26:40Z' },
      { name: 'other', builtFrom: 'town.osm.pbf' },
      { file: path.join(dir, 'none.graph'), fault: 'the file does not exist' },
    ])
    t.match(all.stderr, /^fieldgate: .*none\.graph: the file does not exist\n$/)
  },
)

t.test('map: wrong usage ends with 2, a fault with 1; one line on stderr, nothing written', async (t) => {
  const dir = folder(t)
  writeFileSync(path.join(dir, 'bad.osm.pbf'), '<osm/>')
  writeFileSync(path.join(dir, 'bad.geojson'), '{"type":"Point","coordinates":[1,2]}')
  writeFileSync(path.join(dir, 'worse.geojson'), '{"type":"Polygon","coordinates":[[[1,2]]]}')
  writeFileSync(path.join(dir, 'none.geojson'), '{"type":"FeatureCollection","features":[]}')
  writeFileSync(path.join(dir, 'text.geojson'), 'POLYGON')
  const before = readdirSync(dir).sort()
  const build = ['map', 'build', 'town.osm.pbf']
  const rows: [string[], number, RegExp][] = [
    [['map'], 2, /expected a verb/],
    [['map', 'build'], 2, /extract/],
    [['map', 'bend'], 2, /bend/],
    [[...build, '--profile', 'horse'], 2, /Allowed choices are car, foot, bicycle/],
    [[...build, '--country', 'XX'], 2, /Expected one of AT, AU/],
    [[...build, '-o', 'town.osm.pbf'], 2, /found the extract itself/],
    [
      [...build, '-o', 'no/such/folder/x.graph'],
      1,
      /the folder .*no\/such\/folder does not exist: create it first/,
    ],
    [
      [...build, '-o', 'x.graph', '--area', 'gone.geojson'],
      1,
      /gone\.geojson: cannot be read as JSON \(ENOENT/,
    ],
    [[...build, '-o', 'x.graph', '--area', 'text.geojson'], 1, /cannot be read as JSON/],
    [
      [...build, '-o', 'x.graph', '--area', 'bad.geojson'],
      1,
      /\$: found a Point, expected a Polygon or MultiPolygon/,
    ],
    [[...build, '-o', 'x.graph', '--area', 'worse.geojson'], 1, /worse\.geojson: \$\.coordinates/],
    [
      [...build, '-o', 'x.graph', '--area', 'none.geojson'],
      1,
      /found no area, expected at least one polygon/,
    ],
    [['map', 'build', 'gone.osm.pbf'], 1, /gone\.osm\.pbf: the file does not exist/],
    [['map', 'build', 'bad.osm.pbf'], 1, /bad\.osm\.pbf: byte 0 of the extract: this is no \.osm\.pbf file/],
    [['map', 'info', 'gone.graph'], 1, /gone\.graph: the file does not exist/],
    [['map', 'info', 'bad.osm.pbf'], 1, /not a map file: found first bytes/],
    [['map', 'check'], 2, /file/],
  ]
  for (const [argv, code, message] of rows) {
    const run = await cli(dir, argv)
    t.equal(run.code, code, `${argv.join(' ')}: ${run.stderr}`)
    t.match(run.stderr, message)
    t.match(run.stderr, /^fieldgate: [^\n]*\n$/, 'one line')
  }
  t.same(readdirSync(dir).sort(), before)
})

t.test('map build: Ctrl-C stops it and leaves nothing', async (t) => {
  const dir = folder(t)
  const running = startCli(dir, ['map', 'build', 'town.osm.pbf', '-o', 'x.graph'])
  setImmediate(() => running.signal('SIGINT'))
  const { code, stderr } = await running.ended
  t.equal(code, 1)
  t.equal(stderr, 'fieldgate: stopped; nothing was written\n')
  t.same(readdirSync(dir), ['town.osm.pbf'])
})

t.test(
  'createProgress: one line on a screen that is drawn over and taken back, nothing elsewhere',
  async (t) => {
    let text = ''
    const write = (more: string) => {
      text += more
    }
    const bar = createProgress({ write, isTTY: true, columns: 42 })
    bar.show(0.5, 'reading')
    bar.show(0.5, 'reading')
    t.equal(text, '\r[############............]  50 % reading', 'the same is not drawn twice')
    text = ''
    bar.show(undefined, 'disk')
    t.equal(
      text,
      `\r${'... disk'.padEnd('[############............]  50 % reading'.length)}`,
      'blanks take back what is longer, and no bar without an end',
    )
    bar.clear()
    t.ok(text.endsWith(`\r${' '.repeat(8)}\r`))
    t.notOk(text.includes('\u001b'), 'no control sequence that a dumb terminal prints')
    text = ''
    bar.show(7, 'building with a long word behind it')
    t.equal(text, '\r[########################] 100 % building', 'cut to the width of the screen')
    let nowMs = 0
    const timed = createProgress({ write, isTTY: true, columns: 120 }, () => nowMs)
    const lineAt = (ms: number, ...given: Parameters<typeof timed.show>) => {
      text = ''
      nowMs = ms
      timed.show(...given)
      return text.slice(text.indexOf('%') + 2).trimEnd()
    }
    t.equal(lineAt(1000, 0, '0 records', 0), '0 records', 'a guess is not shown')
    t.equal(lineAt(5000, 0.01, '500 records', 500), '500 records, 125/s')
    t.equal(lineAt(11_000, 0.25, '9 records', 1000), '9 records, 100/s, 30 s left')
    t.equal(lineAt(101_000, 0.5, 'building'), 'building, 1 min 40 s left')
    t.equal(lineAt(7_201_000, 0.5, 'ordering'), 'ordering, 2 h 0 min left')
    t.equal(lineAt(7_202_000, 1, 'writing', 7201), 'writing, 1/s')
    text = ''
    const quiet = createProgress({ write })
    quiet.show(0.5, 'reading')
    quiet.clear()
    t.equal(text, '')
  },
)

t.test('map build --base: a base map beside the graph; list, info, check and find read it', async (t) => {
  const dir = folder(t)
  const build = ['map', 'build', 'town.osm.pbf', '--data-dir', 'd', '--base']
  const built = await cli(dir, build)
  t.equal(built.code, 0, built.stderr)
  const base = path.join(dir, 'd', 'maps', 'town.mbtiles')
  t.match(built.stdout, /town\.mbtiles: \d+ tiles, 1 names, 0\.\d MB, built in [\d.]+ s\n/)
  t.same(readdirSync(path.dirname(base)).sort(), ['town.graph', 'town.mbtiles'])
  const bytes = readFileSync(base)
  rmSync(path.join(dir, 'd', 'maps', 'town.graph'))
  t.match(await cli(dir, build), {
    code: 1,
    stderr: /found the base map .*town\.mbtiles, expected .* or --force/,
  })
  const again = await cli(dir, [...build, '--force', '--json'])
  t.match(JSON.parse(again.stdout), { base: { file: base, places: 1, seaFault: null, bytes: bytes.length } })
  t.equal(Buffer.compare(readFileSync(base), bytes), 0, 'twice the same bytes')

  const data = ['--data-dir', 'd']
  t.match((await cli(dir, ['map', 'list', ...data])).stdout, /town {2}car .* base map 0\.\d MB/)
  t.match(
    (await cli(dir, ['map', 'info', base])).stdout,
    /zooms +\d+ to 14\nlayers +streets, street_labels\n/,
  )
  t.match(JSON.parse((await cli(dir, ['map', 'info', base, '--json'])).stdout), { name: 'town', maxZoom: 14 })
  t.same((await cli(dir, ['map', 'check', base])).stdout, `ok: ${base}\n`)
  t.match(
    (await cli(dir, ['map', 'find', '桜', ...data])).stdout,
    /^桜通り {2}street {2}10\.\d+, 45(?:\.\d+)? {2}town\n$/,
  )
  t.match(JSON.parse((await cli(dir, ['map', 'find', '通り', ...data, '--json'])).stdout), [
    { name: '桜通り', map: 'town' },
  ])
  t.match(await cli(dir, ['map', 'find', 'x', ...data, '--map', 'other']), {
    code: 1,
    stderr: /no base map of "other"/,
  })
  t.match(await cli(dir, ['map', 'find', 'x', ...data, '--limit', '0']), { code: 2, stderr: /from 1 to 100/ })

  writeFileSync(base, 'not tiles')
  t.match(await cli(dir, ['map', 'list', ...data]), {
    code: 1,
    stdout: /town {2}car/,
    stderr: /town\.mbtiles: .*no MBTiles file/,
  })
  t.match(await cli(dir, ['map', 'check', base]), { code: 1, stderr: /no MBTiles file/ })
})

t.test('map build --base: what is wrong with the extract leaves no file', async (t) => {
  const dir = folder(t)
  writeFileSync(path.join(dir, 'bad.osm.pbf'), 'no extract')
  const maps = path.join(dir, 'd', 'maps')
  t.match(await cli(dir, ['map', 'build', 'bad.osm.pbf', '--data-dir', 'd', '--base']), {
    code: 1,
    stderr: /bad\.osm\.pbf/,
  })
  t.same(readdirSync(maps), [])
  // an extract without a road: the base map was complete already
  writeFileSync(path.join(dir, 'none.osm.pbf'), writeExtract(sketch(['A B'], [['AB', { building: 'yes' }]])))
  t.match(await cli(dir, ['map', 'build', 'none.osm.pbf', '--data-dir', 'd', '--base']), {
    code: 1,
    stderr: /no road/,
  })
  t.same(readdirSync(maps), [])
  t.match(await cli(dir, ['map', 'find', 'x', '--data-dir', 'd']), {
    code: 1,
    stderr: /no map has a base map/,
  })
})

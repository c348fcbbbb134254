import t, { type Test } from 'tap'
import { LOADER_PATH } from '../../../../src/gateway/apis.js'
import { noHub } from '../../../support/hub.js'
import { type Answer, type Pair, startPair } from '../../../support/hub-beside-gateway.js'
import { linkOf, ogcFaults } from '../../../support/ogc.js'
import { RAIN, ROWS, rowOf } from '../../../support/rain-rows.js'

const skip = noHub()
const ITEMS = '/ogc/collections/table.rain/items'
const MERCATOR = 'http://www.opengis.net/def/crs/EPSG/0/3857'
const LAT_LNG = 'http://www.opengis.net/def/crs/EPSG/0/4326'

const DOCUMENTS = [
  ...['/ogc', '/ogc/conformance', '/ogc/api', '/ogc/collections', '/ogc/collections/table.rain'],
  ...['/ogc/collections/table.rain/schema', '/ogc/collections/table.rain/queryables'],
  ...['/ogc/collections/table.empty', '/ogc/collections/table.empty/items'],
]

/** Queries of items, and the number of features that each selects. Every box selects the row without a geometry. */
const QUERIES: readonly (readonly [query: string, count: number])[] = [
  ['', ROWS],
  ['?limit=1000', ROWS],
  ['?bbox=-4.6,-4.6,-3.95,-3.95', 8],
  ['?bbox=-4.6,-4.6,0,-3.95,-3.95,100', 8],
  ['?bbox=170,-10,-4.65,10', 4],
  ['?bbox=0,0,1,1', 1],
  [`?bbox=-4.6,-4.6,-3.95,-3.95&bbox-crs=${LAT_LNG}`, 8],
  ['?datetime=2026-01-01T05:30:00Z', 1],
  ['?datetime=2026-01-02', 10],
  ['?datetime=2026-01-01T03:00:00Z/2026-01-01T06:00:00Z', 4],
  ['?datetime=2026-01-01T20:00:00Z/..', 5],
  ['?datetime=../2026-01-01T02:30:00%2B00:00', 3],
  ['?bbox=-4.6,-4.6,-3.95,-3.95&datetime=2026-01-01T08:00:00Z/..&limit=2', 2],
  ['?wet=true&limit=4', 4],
  ['?hits=7', 1],
  ['?total=9007199254740993', 1],
  ['?gauge=g3%20%22%C3%A9%22', 3],
  ['?day=2026-01-01&wet=0', 12],
  ['?resultType=hits', 0],
  ['?resultType=hits&bbox=-4.6,-4.6,-3.95,-3.95', 0],
  [`?crs=${MERCATOR}&limit=8`, 8],
  [`?crs=${LAT_LNG}&limit=8`, 8],
]

const BAD: readonly (readonly [error: string, path: string, headers?: Record<string, string>])[] = [
  ['NOT_FOUND', '/ogc/collections/table.snow'],
  ['NOT_FOUND', '/ogc/collections/table.snow/items'],
  ['NOT_FOUND', '/ogc/collections/dataset.rain/items'],
  ['NOT_FOUND', '/ogc/nothing'],
  ['NOT_FOUND', `${ITEMS}/999999`],
  ['NOT_FOUND', `${ITEMS}/first`],
  ['INVALID_PARAMS', `${ITEMS}?bbox=1,2,3`],
  ['INVALID_PARAMS', `${ITEMS}?bbox=1,5,2,4`],
  ['INVALID_PARAMS', `${ITEMS}?datetime=2026-13-01`],
  ['INVALID_PARAMS', `${ITEMS}?datetime=2026-01-02/2026-01-01`],
  ['INVALID_PARAMS', `${ITEMS}?limit=0`],
  ['INVALID_PARAMS', `${ITEMS}?limit=1&limit=2`],
  ['INVALID_PARAMS', `${ITEMS}?after=1&before=2`],
  ['INVALID_PARAMS', `${ITEMS}?colour=red`],
  ['INVALID_PARAMS', `${ITEMS}?note=secret`],
  ['INVALID_PARAMS', `${ITEMS}?hits=many`],
  ['BAD_CONDITION', `${ITEMS}?day=someday`],
  ['INVALID_PARAMS', `${ITEMS}?crs=EPSG:9999`],
  ['INVALID_PARAMS', `${ITEMS}?f=csv`],
  ['NOT_ACCEPTABLE', ITEMS, { Accept: 'text/csv' }],
]

/** A gateway knows the extent of a table from its index, in single precision and days; a hub knows it exactly. */
const withoutExtent = (answer: Answer): Answer => ({
  ...answer,
  text: answer.text.replace(/"extent":\{.*?\}(?=,"crs":)/g, '"extent":{}'),
})

async function fill({ write }: Pair): Promise<void> {
  const record_set = Array.from({ length: ROWS }, (_, n) => rowOf(n))
  for (const definition of [RAIN, { ...RAIN, data_name: 'empty' }])
    await write(LOADER_PATH, 'loaderwebapi.register_loader', definition)
  const put = await write(LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'rain', record_set })
  t.same(put.hub, put.gateway)
}

t.test('hub: features of the OGC API are those of a gateway, byte for byte', { skip }, async (t) => {
  const pair = await startPair(t)
  await fill(pair)
  const same = async (t: Test, path: string, headers: Record<string, string> = {}, withoutKey = false) => {
    const { gateway, hub } = await pair.get(path, headers, withoutKey)
    for (const answer of hub)
      t.strictSame(withoutExtent(answer), withoutExtent(gateway), `${path} ${JSON.stringify(headers)}`)
    return gateway
  }
  const pathOf = (href: string | undefined) => href?.replace('http://node', '')

  await t.test('documents and collections, as JSON and as HTML', async (t) => {
    for (const path of DOCUMENTS) {
      t.match(await same(t, path), { status: 200, type: /json/ }, path)
      t.match(await same(t, `${path}?f=html`), { status: 200, type: /html/ }, path)
      t.match(await same(t, path, { Accept: 'text/html, */*;q=0.5' }), { status: 200, type: /html/ }, path)
    }
    const { collections } = JSON.parse((await same(t, '/ogc/collections')).text)
    t.same(collections.map(({ id }: { id: string }) => id).sort(), ['table.empty', 'table.rain'])
  })

  await t.test('the extent of a collection covers its rows, at a hub exactly', async (t) => {
    const { gateway, hub } = await pair.get('/ogc/collections/table.rain')
    const interval = [['2026-01-01T00:00:00Z', null]]
    for (const { text } of hub)
      t.match(JSON.parse(text).extent, { spatial: { bbox: [[-5, -5, -2.6, -2.6]] }, temporal: { interval } })
    const { spatial, temporal } = JSON.parse(gateway.text).extent
    const [west, south, east, north] = spatial.bbox[0]
    t.ok(west <= -5 && south <= -5 && east >= -2.6 && north >= -2.6 && west > -5.00001 && east < -2.59999)
    t.same(temporal.interval, interval)
  })

  await t.test('items by box, time, property and system of coordinates', async (t) => {
    for (const [query, count] of QUERIES) {
      const answer = await same(t, `${ITEMS}${query}`)
      t.match(answer, { status: 200, type: 'application/geo+json' })
      const document = JSON.parse(answer.text)
      t.same(ogcFaults('featureCollection', document), [], query)
      t.equal(document.features.length, count, query)
    }
    t.match(await same(t, `${ITEMS}?f=html&limit=5`), { status: 200, type: /html/ })
  })

  await t.test('pages forth and back, and single features', async (t) => {
    const read = async (rel: string, from: string) => {
      const ids: number[] = []
      for (let path: string | undefined = from; path !== undefined; ) {
        const page: { features: { id: number }[]; links: [] } = JSON.parse((await same(t, path)).text)
        ids.push(...page.features.map(({ id }) => id))
        path = pathOf(linkOf(page, rel))
      }
      return ids
    }
    const forth = await read('next', `${ITEMS}?limit=7`)
    t.equal(new Set(forth).size, ROWS)
    const back = await read('prev', `${ITEMS}?limit=7&before=${(forth.at(-1) ?? 0) + 1}`)
    t.same(
      back.toSorted((a, b) => a - b),
      forth,
    )
    const boxed = await read(
      'next',
      `${ITEMS}?limit=2&bbox=-4.6,-4.6,-3.95,-3.95&datetime=2026-01-01T06:00:00Z/..`,
    )
    t.equal(boxed.length, 5)
    for (const id of forth.slice(0, 10)) {
      const item = await same(t, `${ITEMS}/${id}`)
      t.match(item, { status: 200, type: 'application/geo+json' })
      t.match(await same(t, `${ITEMS}/${id}?f=html`), { type: /html/ })
      t.match(await same(t, `${ITEMS}/${id}?crs=${MERCATOR}`), { status: 200, crs: `<${MERCATOR}>` })
    }
  })

  await t.test('bad requests have the same error', async (t) => {
    for (const [error, path, headers] of BAD) {
      const answer = await same(t, path, headers)
      t.match(JSON.parse(answer.text), { code: error }, `${path}: ${answer.text}`)
    }
    t.match(await same(t, `${ITEMS}?limit=none&f=html`), { status: 400, type: /html/ })
    t.equal((await same(t, ITEMS, {}, true)).status, 401)
    t.equal((await same(t, ITEMS, { Authorization: 'Basic eDp5' }, true)).status, 401)
  })

  await t.test('files of rows are not on a hub, in any form', async (t) => {
    for (const format of ['csv', 'geojson', 'gpkg']) {
      const { gateway, hub } = await pair.get(`/api/v1/dataloaderapi/export/rain?format=${format}`)
      t.equal(gateway.status, 200)
      for (const { text } of hub)
        t.match(JSON.parse(text), { error: { data: { name: 'NOT_ON_HUB' } } }, format)
    }
  })
})

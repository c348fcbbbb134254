import t from 'tap'
import { LAYERS } from '../../../src/basemap/layers.js'
import { shieldId, shieldPicture } from '../../../src/console/map/base/shields.js'
import type { ServedMap } from '../../../src/console/map/state.js'
import { mapStyle } from '../../../src/console/map/style.js'

const MAP: ServedMap = {
  name: 'a map',
  bbox: [10, 45, 11, 46],
  attribution: '© <b>',
  base: { minzoom: 4, maxzoom: 14, bbox: [10, 45, 11, 46], attribution: '© <i>' },
}

t.test('mapStyle: without a base map the roads of the graph are drawn', async (t) => {
  for (const map of [
    { ...MAP, base: null },
    { name: 'b', bbox: MAP.bbox, attribution: '' },
  ]) {
    const { sources, layers } = mapStyle(map, true)
    t.ok('roads' in sources && !('base' in sources))
    t.notOk(layers.some(({ id }) => id.startsWith('base-')))
  }
})

t.test(
  'mapStyle: a base map replaces the roads of the graph; overlays lie above it, its labels above routes',
  async (t) => {
    const { sources, layers } = mapStyle(MAP, false)
    t.match(sources.base, {
      type: 'vector',
      tiles: ['fieldgate:///tiles/a%20map/base/{z}/{x}/{y}.mvt'],
      minzoom: 4,
      maxzoom: 14,
      attribution: '© &#60;i&#62;',
    })
    t.notOk('roads' in sources)
    const ids = layers.map(({ id }) => id)
    t.equal(new Set(ids).size, ids.length)
    const order = ['base-land', 'base-ocean', 'base-buildings', 'base-ground-casing', 'base-ground-fill']
    const places = [...order, 'risk-fill', 'route-line', 'base-places-cities', 'points-single'].map((id) =>
      ids.indexOf(id),
    )
    t.ok(
      places.every((place, i) => place > (places[i - 1] ?? -1)),
      places.join(),
    )
    const drawn = new Set(
      layers.map((layer) => ('source-layer' in layer ? layer['source-layer'] : undefined)),
    )
    t.same(
      LAYERS.filter((layer) => !drawn.has(layer)),
      [],
      'every layer of a base map is drawn',
    )
  },
)

t.test('mapStyle: no fonts and no pictures are fetched', async (t) => {
  const style = mapStyle(MAP, false)
  t.equal(style.glyphs, undefined)
  t.equal(style.sprite, undefined)
})

t.test('shieldPicture: clear corners, an edge, the filling in the middle', async (t) => {
  const { width, height, data } = shieldPicture('#102030', '#ffffff')
  const at = (x: number, y: number) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)]
  t.equal(data.length, width * height * 4)
  t.equal(at(0, 0)[3], 0)
  t.same(at(width / 2, 0), [255, 255, 255, 255])
  t.same(at(width / 2, height / 2), [16, 32, 48, 255])
  t.equal(shieldId('#102030', '#ffffff'), 'shield #102030 #ffffff')
})

import t from 'tap'
import { overlayLayers, overlaySources, routeLayers } from '../../../src/console/map/overlays.js'

const colours = { halo: '#ffffff', route: '#000000', riskOpacity: 0.5 }

t.test('overlays: the mark is above the route, which is above the other routes', async (t) => {
  const ids = [...overlayLayers(colours), ...routeLayers(colours)].map(({ id }) => id)
  t.equal(ids.at(-1), 'mark')
  const order = [
    'risk-fill',
    'isochrone-fill',
    'shapes-fill',
    'others-line',
    'route-line',
    'points-single',
    'mark',
  ]
  t.same(
    ids.filter((id) => order.includes(id)),
    order,
  )
  t.equal(new Set(ids).size, ids.length)
})

t.test('overlays: names are drawn over the routes, and below the points of records', async (t) => {
  t.ok(overlayLayers(colours).some(({ id }) => id === 'route-line'))
  t.notOk(routeLayers(colours).some(({ id }) => /^(route|others)-/.test(id)))
})

t.test('overlays: each layer has a source; points of records are clustered, and nothing else', async (t) => {
  const sources = overlaySources()
  for (const layer of [...overlayLayers(colours), ...routeLayers(colours)])
    t.ok('source' in layer && String(layer.source) in sources, layer.id)
  const clustered = Object.entries(sources).filter(([, source]) => 'cluster' in source)
  t.same(
    clustered.map(([name]) => name),
    ['points'],
  )
})

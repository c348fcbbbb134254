import t from 'tap'
import { listMaps } from '../../../src/api/routing/list-maps.js'
import { nearest } from '../../../src/api/routing/nearest.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { town } from '../../support/town.js'

t.test('routing.list_maps and routing.nearest: maps, and the nearest point on a road', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  const { maps } = await ask(listMaps, [{}])
  t.match(maps, [{ name: 'town', nodes: 25, arcs: 80, attribution: '© test', built_from: { file: 'test' } }])
  t.match(await ask(nearest, [{ lonlat: [10.0011, 50.0001] }]), {
    map: 'town',
    lonlat: [10.0011, 50],
    node: 1001,
    edges: [
      { edge_id: 0, speed: 50, name: 'Row 0 & <Co>' },
      { edge_id: 1, speed: 50, name: 'Row 0 & <Co>' },
    ],
  })
  await rejectsWith(t, ask(nearest, [{ lonlat: [1, 1] }]), 'OUTSIDE_MAP', { data: { point: 'lonlat' } })
  await rejectsWith(t, ask(nearest, [{}]), 'INVALID_PARAMS')
  await rejectsWith(t, ask(listMaps, [{ map: 'town' }]), 'INVALID_PARAMS')
})

t.test('routing.list_maps: none, condition no map', async (t) => {
  const { ask } = openSearch(t, {})
  t.same(await ask(listMaps, undefined), { maps: [] })
})

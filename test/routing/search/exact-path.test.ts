import t from 'tap'
import { endPoint } from '../../../src/routing/graph/geometry.js'
import type { Control } from '../../../src/routing/search/dijkstra.js'
import { findExactPath } from '../../../src/routing/search/exact-path.js'
import { endsOf } from '../../../src/routing/search/link-ends.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { makeGraph } from '../../support/make-graph.js'
import { town } from '../../support/town.js'

t.test('findExactPath: the limits stop a search of many links', async (t) => {
  const graph = makeGraph(town(36)) // 5,040 links
  const profile = createProfile(graph)
  const placeOn = (segment: number) => {
    const point = { ...endPoint(graph, segment, false), segment, offsetMm: 1000 }
    return endsOf(profile, { lng: 0, lat: 0, distanceM: 0, points: [point] })
  }
  const search = (control: Control) =>
    findExactPath({
      profile,
      potential: () => 0,
      from: placeOn(0),
      to: placeOn(graph.segmentCount - 1),
      control,
    })
  const enough: Control = { maxSettledNodes: 1e9 }
  t.ok((search(enough)?.arcs.length ?? 0) >= 60, 'across the town')
  t.equal(enough.stoppedBy, undefined)
  const few: Control = { maxSettledNodes: 4096 }
  t.equal(search(few), undefined)
  t.equal(few.stoppedBy, 'budget')
  const cancelled: Control = { maxSettledNodes: 1e9, cancel: Int32Array.of(1) }
  t.equal(search(cancelled), undefined)
  t.equal(cancelled.stoppedBy, 'cancel')
})

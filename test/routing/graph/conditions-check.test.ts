import t from 'tap'
import type { MapConditions } from '../../../src/routing/graph/conditions.js'
import { faultOfConditions } from '../../../src/routing/graph/conditions-check.js'
import { type Graph, NO_ARC } from '../../../src/routing/graph/graph.js'
import { checkGraph } from '../../../src/routing/graph/graph-check.js'
import { graphOfOsm, sketch } from '../../support/osm-fixture.js'
import { throwsWith } from '../../support/throws.js'

const street = { highway: 'residential' }

t.test('faultOfConditions: a built map has none; each damage is named', async (t) => {
  const night = { ...street, access: 'no', 'access:conditional': 'yes @ (22:00-06:00)' }
  const graph = await graphOfOsm(
    sketch(
      ['A B C'],
      [
        ['AB', street],
        ['BC', night],
      ],
    ),
  )
  t.equal(faultOfConditions(graph), undefined)
  const faultOf = (changes: Partial<Graph>) => faultOfConditions({ ...graph, ...changes })
  const section = (found: Partial<Record<keyof MapConditions, unknown>>) =>
    faultOf({ conditions: new TextEncoder().encode(JSON.stringify(found)) })
  t.match(faultOf({ conditions: undefined }), /but no conditions/)
  t.match(faultOf({ conditions: new Uint8Array([1]) }), /not JSON/)
  t.match(section({ conditions: [1], tables: [] }), /not JSON of conditions/)
  t.match(section({ conditions: ['wet'], tables: [] }), /condition 0 is "wet"/)
  t.match(section({ conditions: ['Mo'], tables: [{ when: [0], out: [0] }] }), /table 0/)
  t.match(section({ conditions: ['Mo'], tables: [{ when: [1], out: [0, 1] }] }), /table 0/)
  t.match(section({ conditions: ['Mo'], tables: [null] }), /table 0/)
  t.match(faultOf({ meta: { ...graph.meta, timeZone: 'Atlantis' } }), /time zone is "Atlantis"/)
  for (const zone of ['Asia/Kolkata', 'UTC']) // other names than those that are listed
    t.equal(faultOf({ meta: { ...graph.meta, timeZone: zone } }), undefined, zone)
  const { timeZone, ...zoneless } = graph.meta
  t.equal(typeof timeZone, 'string')
  t.match(faultOf({ meta: zoneless }), /time zone is/)
  const [link = 0, table = 0, ...starts] = graph.conditionalLinks!
  const other = graph.arcLink.findIndex((driven) => driven !== link)
  t.match(
    faultOf({ conditionalLinks: Uint32Array.of(link, table, ...starts.map(() => other)) }),
    /arcs of other/,
  )
  t.match(
    faultOf({ conditionalLinks: Uint32Array.of(link, table, ...starts.map(() => NO_ARC)) }),
    /no arc to/,
  )
  t.match(faultOf({ conditionalLinks: graph.conditionalLinks!.slice(1) }), /part of an entry/)
  t.match(faultOf({ conditionalLinks: Uint32Array.of(999, 0, 0, 0) }), /ascending order/)
  t.match(faultOf({ conditionalLinks: Uint32Array.of(2, 9, 0, 0) }), /ascending order/)
  t.match(faultOf({ conditionalArcs: Uint32Array.of(999, 0) }), /conditionalArcs\[0\] is 999/)
  t.match(faultOf({ conditionalArcs: Uint32Array.of(1) }), /part of an entry/)
  const damage = () => checkGraph({ ...graph, conditionalArcs: Uint32Array.of(1) })
  t.match(throwsWith(t, damage, 'BAD_MAP_FILE').message, /part of an entry/)
})

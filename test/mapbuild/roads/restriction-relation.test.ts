import t from 'tap'
import type { Member } from '../../../src/mapbuild/extract/osm-objects.js'
import { carProfile } from '../../../src/mapbuild/profile/car.js'
import { readRestriction } from '../../../src/mapbuild/roads/restriction-relation.js'

const way = (id: number, role: string): Member => ({ type: 'way', id, role })
const node = (id: number, role: string): Member => ({ type: 'node', id, role })
const read = (members: readonly Member[], restriction = 'no_left_turn') =>
  readRestriction(9, new Map(Object.entries({ type: 'restriction', restriction })), members, carProfile)

t.test('readRestriction: via is one node, or ways, and nothing else', async (t) => {
  const [from, to] = [way(1, 'from'), way(2, 'to')]
  t.match(read([from, node(3, 'via'), to]), { viaNode: 3, viaWays: [] })
  t.match(read([from, way(3, 'via'), way(4, 'via'), to]), { viaNode: undefined, viaWays: [3, 4] })
  for (const via of [[], [node(3, 'via'), node(4, 'via')], [node(3, 'via'), way(4, 'via')]])
    t.equal(read([from, ...via, to]), 'restrictionsUnreadable', JSON.stringify(via))
})

t.test('readRestriction: from and to are needed, and a known kind', async (t) => {
  const via = node(3, 'via')
  t.equal(read([via, way(2, 'to')]), 'restrictionsUnreadable')
  t.equal(read([way(1, 'from'), via]), 'restrictionsUnreadable')
  t.equal(read([way(1, 'from'), via, way(2, 'to')], 'maybe_left'), 'restrictionsUnreadable')
  t.equal(read([way(1, 'from'), via, way(2, 'to')], 'no_right_turn_on_red'), 'restrictionsOnRed')
  t.match(read([way(1, 'from'), via, way(1, 'to')], 'no_u_turn'), { kind: 'no', isUTurn: true })
  t.match(read([way(1, 'from'), via, way(2, 'to')], 'only_straight_on'), { kind: 'only', isUTurn: false })
})

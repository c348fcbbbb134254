import t from 'tap'
import { askText, at, town } from '../support/town.js'

t.test('routeText: equal requests on equal data give equal bytes', async (t) => {
  const points = [at(0.3, 0), at(3.2, 4), at(1, 2), at(4, 1.1)]
  const wishes = { reorder: true, withKml: true, alternatives: 3 }
  const [first, second] = [askText(town(), { points, wishes }), askText(town(), { points, wishes })]
  t.equal(Buffer.compare(Buffer.from(first), Buffer.from(second)), 0)
  t.ok(first.length > 1000)
})

t.test('routeText: fields come in the order of the documentation', async (t) => {
  const points = [at(0.3, 0), at(1, 2), at(3.2, 4)]
  const wishes = { reorder: true, withKml: true, alternatives: 2 }
  const totals = ['length', 'time', 'total_cost', 'turn_cost', 'max_risk', 'avr_risk', 'exposure']
  const route = ['kml', 'geojson', ...totals, 'start_node', 'end_node']
  const answer = JSON.parse(askText(town(), { points, wishes }))
  const snaps = ['start_snap', 'goal_snap']
  const order = ['order_is_optimal', 'via_order']
  t.same(Object.keys(answer), [...route, ...snaps, 'via_snaps', ...order, 'alternatives'])
  t.same(Object.keys(answer.alternatives[0]), route)
  t.same(Object.keys(JSON.parse(askText(town(), { points }))), [...route.slice(1), ...snaps, 'via_snaps'])
})

import t from 'tap'
import { calcRisk } from '../../../src/api/routing/calc-risk.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { town } from '../../support/town.js'

t.test('routing.calc_risk: exposure by theme along segments that follow one another', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  await putCells(flood, [
    { box: [10, 49, 11, 51], risk: 2, start: '2026-01-01 12:00:00+09', end: '2026-01-01 18:00:00+09' },
  ])
  const answer = await ask(calcRisk, [
    {
      themes: ['flood', 'flood'],
      route: [{ start_lonlat: [9.5, 50], end_lonlat: [10, 50] }, { end_lonlat: [10.5, 50] }],
      start_datetime: '2026-01-01 12:00:00+09',
      speed: 35.8,
    },
  ])
  t.match(answer, { max_risk: 2, segments: [{ exposure: { total: 0 } }, { max_risk: 2 }] })
  t.ok(Math.abs(answer.exposure.total - 2 * answer.segments[1].time) < 1e-9)
  t.match(answer.end_datetime, /^2026-01-01T14:0\d:\d\d.*\+09:00$/)
  const request = { themes: [], route: [{ end_lonlat: [10, 50] }], start_datetime: '2026-01-01', speed: 30 }
  await rejectsWith(t, ask(calcRisk, [request]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.route[0].start_lonlat' }] },
  })
  const still = { ...request, route: [{ start_lonlat: [9, 50], end_lonlat: [10, 50] }], speed: undefined }
  await rejectsWith(t, ask(calcRisk, [still]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.route[0].speed' }] },
  })
  const crawl = { ...still, speed: 0.001, start_datetime: '9999-01-01' }
  await rejectsWith(t, ask(calcRisk, [crawl]), 'INVALID_PARAMS', { data: { faults: [{ path: '$.route' }] } })
  await rejectsWith(t, ask(calcRisk, [{ ...still, speed: 30, themes: ['snow'] }]), 'UNKNOWN_THEME')
})

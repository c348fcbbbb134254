import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { parseDatetime } from '../../src/datetime.js'
import type { Polygon } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { rejectsWith } from '../support/rejects-with.js'
import { openSearch } from '../support/search.js'
import { at, town } from '../support/town.js'
import { workOf } from '../support/work.js'

const BOX: [number, number, number, number] = [10.0025, 49.9995, 10.0035, 50.0005]
/** A rectangle as the test of searches stores it. */
const boxOf = ([west, south, east, north]: typeof BOX): Polygon => ({
  type: 'Polygon',
  coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]], // biome-ignore format: ring
})
const LEVEL_5 = [0, 0, 0, 0, 0, 9999, 0, 0, 0, 0, 0]

function us(text: string): bigint {
  return parseDatetime(text, 540) as bigint
}

interface Stats {
  overlayCount: number
  overlayBytes: number
  profileCount: number
  clampedLevels: number
}

t.test('overlayOf: one overlay for each slot; a new version of the table drops them all', async (t) => {
  const { parts, addTheme, putCells, call } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  const map = parts.maps.list()[0]?.open()
  await putCells(flood, [
    { box: BOX, risk: 5, start: '2026-01-01 12:00:00', end: '2026-01-01 13:00:00' },
    { box: BOX, risk: 6, start: '2026-01-01 12:30:00', end: '2026-01-01 14:00:00' },
  ])
  const { themes } = parts
  const overlayAt = (time: string) =>
    themes.inSnapshot(() => themes.overlayOf(themes.find('flood'), map!, us(`2026-01-01 ${time}`), ''))
  const first = overlayAt('12:00:00')
  t.equal(overlayAt('12:29:59'), first)
  t.same(first.slot, { fromUs: us('2026-01-01 12:00:00'), untilUs: us('2026-01-01 12:30:00') })
  t.not(overlayAt('12:30:00'), first)
  t.same([...overlayAt('12:30:00').overlay.pieceLevel].includes(6), true)
  t.same(overlayAt('11:00:00').slot.fromUs, undefined)
  t.same(overlayAt('15:00:00').slot.untilUs, undefined)
  t.match(call('status', null), { overlayCount: 4 })
  await putCells(flood, [{ box: BOX, risk: 1, start: '2026-01-01 10:00:00', end: '2026-01-01 11:00:00' }])
  t.not(overlayAt('12:10:00'), first)
  t.match(call('status', null), { overlayCount: 1 })
})

t.test('prepare: makes the overlay that overlayOf returns, once for all that ask', async (t) => {
  const { parts, addTheme, putCells, call } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  const map = parts.maps.list()[0]?.open()
  const { themes } = parts
  const noon = us('2026-01-01 12:00:00')
  const cells = createCellSet()
  for (const risk of [5, 6]) {
    // the second time from the overlay of the former version
    await putCells(flood, [{ box: BOX, risk }])
    addCell(cells, boxOf(BOX), risk)
    await Promise.all([1, 2, 3].map(() => themes.prepare('flood', map!, noon, workOf())))
    t.match(call('status', null), { overlayCount: 1 })
    const { overlay } = themes.inSnapshot(() => themes.overlayOf(themes.find('flood'), map!, noon, ''))
    t.match(call('status', null), { overlayCount: 1 }, 'it was there')
    t.ok(overlay.segments.length > 0)
    t.same(overlay, buildOverlay(map!.graph, cells))
  }
  await rejectsWith(t, themes.prepare('snow', map!, noon, workOf()), 'UNKNOWN_THEME')
})

t.test('overlayOf: kept while they fit routing.overlayCacheBytes', async (t) => {
  const { ask, addTheme, putCells, call } = openSearch(
    t,
    { town: town() },
    { routing: { overlayCacheBytes: 1024 } },
  )
  const flood = addTheme('flood')
  const cells = Array.from({ length: 60 }, (_, i) => ({
    box: BOX,
    risk: 5,
    start: `2026-01-01 12:${String(i).padStart(2, '0')}:00`,
    end: `2026-01-01 13:${String(i).padStart(2, '0')}:00`,
  }))
  await putCells(flood, cells)
  for (let minute = 0; minute < 60; minute++) {
    const start_datetime = `2026-01-01 12:${String(minute).padStart(2, '0')}:30`
    const request = {
      themes: { flood: LEVEL_5 },
      start_lonlat: at(0, 0),
      goal_lonlat: at(3, 0),
      start_datetime,
    }
    t.equal((await ask(dijkstra, [request])).geojson.features.length, 5)
  }
  const { overlayBytes, overlayCount } = call('status', null) as Stats
  t.ok(
    overlayBytes <= 1024 && overlayCount > 1 && overlayCount < 60,
    `${overlayCount} overlays, ${overlayBytes} bytes`,
  )
})

t.test('cells: levels outside 0 to 10 are clamped and counted, cells without a level skipped', async (t) => {
  const { ask, addTheme, putCells, call } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  await putCells(flood, [
    { box: BOX, risk: 99 },
    { box: BOX, risk: -3 },
    { box: BOX, risk: null },
  ])
  const request = {
    themes: { flood: new Array(11).fill(0) },
    start_lonlat: at(0, 0),
    goal_lonlat: at(3, 0),
    start_datetime: '2026-01-01',
  }
  t.equal((await ask(dijkstra, [{ ...request, start_datetime: '2026-01-01 00:00' }])).max_risk, 10)
  t.match(call('status', null), { clampedLevels: 2 })
})

t.test('profiles: equal themes, sensitivities and slots share one profile', async (t) => {
  const { parts, addTheme, putCells } = openSearch(t, { town: town() })
  await putCells(addTheme('flood'), [
    { box: BOX, risk: 5, start: '2026-01-01 12:00:00', end: '2026-01-01 13:00:00' },
  ])
  await putCells(addTheme('wind'), [{ box: BOX, risk: 2 }])
  const map = parts.maps.list()[0]?.open()
  const profileAt = (time: string, themes: [string, number[]][]) =>
    parts.profiles.profileAt(map!, { map: undefined, themes, startUs: us(`2026-01-01 ${time}`), owner: '' })
  const both: [string, number[]][] = [
    ['flood', LEVEL_5],
    ['wind', LEVEL_5],
  ]
  const first = profileAt('12:00:00', both)
  t.equal(profileAt('12:40:00', both), first)
  t.not(profileAt('13:40:00', both), first)
  t.not(profileAt('12:40:00', both.slice(0, 1)), first)
  t.not(profileAt('12:40:00', [['flood', LEVEL_5.map((x) => x / 2)], ['wind', LEVEL_5]]), first) // biome-ignore format: themes
})

t.test('prefetch: the overlay of the next slot of a theme in use is built in advance', async (t) => {
  const { ask, addTheme, putCells, call } = openSearch(t, { town: town() }, { routing: { riskSlotS: 600 } })
  await putCells(addTheme('flood'), [
    { box: BOX, risk: 5, start: '2026-01-01 12:00:00', end: '2026-01-01 12:10:00' },
    { box: BOX, risk: 6, start: '2026-01-01 12:10:00', end: '2026-01-01 18:00:00' },
  ])
  const request = { themes: { flood: LEVEL_5 }, start_lonlat: at(0, 0), goal_lonlat: at(3, 0) }
  await ask(dijkstra, [{ ...request, start_datetime: '2026-01-01 12:05:00' }])
  t.match(call('status', null), { overlayCount: 1 })
  for (let tries = 0; tries < 100 && (call('status', null) as Stats).overlayCount < 2; tries++)
    await sleep(10)
  t.match(call('status', null), { overlayCount: 2 })
  await ask(dijkstra, [{ ...request, start_datetime: '2026-01-01 12:20:00' }])
  t.match(call('status', null), { overlayCount: 2 }, 'it is the one that was prepared')
  await sleep(120)
  t.match(call('status', null), { overlayCount: 2 }, 'the one after begins too late to be prepared')
})

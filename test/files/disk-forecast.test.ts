import t from 'tap'
import { forecastDisk, forecastText } from '../../src/files/disk-forecast.js'

const HOUR_US = 3_600_000_000
const NOW_US = 1_800_000_000_000_000
const MB = 1_000_000
/** Samples an hour apart that lose some megabytes each hour, the last one an hour ago. */
const samples = (hours: number, lost: (hour: number) => number) =>
  Array.from({ length: hours }, (_, at) => ({
    atUs: NOW_US - (at + 1) * HOUR_US,
    freeBytes: 1000 * MB + lost(at + 1) * MB,
  }))
const now = { atUs: NOW_US, freeBytes: 1000 * MB }

t.test('forecast: the rate of the last day tells how long the disk lasts', async (t) => {
  const found = forecastDisk(
    samples(48, (ago) => (ago <= 24 ? ago * 2 : 5000)),
    now,
    40 * MB,
  )
  t.equal(Math.round(found?.bytesPerSecond ?? 0), Math.round((2 * MB) / 3600))
  t.equal(found?.daysLeft?.toFixed(3), (960 / 48).toFixed(3))
  t.equal(forecastText(found as never), 'at the rate of the last 24 h (48.0 MB a day) it lasts 20 days')
  const soon = forecastDisk(
    samples(3, (ago) => ago * 100),
    now,
    40 * MB,
  )
  t.equal(forecastText(soon as never), 'at the rate of the last 3 h (2400.0 MB a day) it lasts 0.4 days')
})

t.test('forecast: a backup that comes and goes is no trend', async (t) => {
  const found = forecastDisk(
    samples(24, (ago) => ago - (ago === 12 ? 300 : 0)),
    now,
    0,
  )
  t.ok((found?.daysLeft ?? 0) > 30, `${found?.daysLeft} days`)
})

t.test('forecast: space that does not shrink lasts for years', async (t) => {
  for (const lost of [() => 0, (ago: number) => -ago, (ago: number) => ago * 1e-6]) {
    const found = forecastDisk(samples(24, lost), now, 0)
    t.equal(found?.daysLeft, null)
    t.match(forecastText(found as never), /it lasts for years/)
  }
  t.equal(
    forecastDisk(
      samples(24, (ago) => ago),
      now,
      2000 * MB,
    )?.daysLeft,
    0,
    'a disk below its reserve',
  )
})

t.test('forecast: too few samples, and those of a clock that was wrong, tell nothing', async (t) => {
  t.equal(forecastDisk([], now, 0), undefined)
  t.equal(forecastDisk([{ atUs: NOW_US - HOUR_US / 2, freeBytes: 9 }], now, 0), undefined)
  t.equal(forecastDisk([{ atUs: NOW_US + 50 * HOUR_US, freeBytes: 9 }], now, 0), undefined)
  t.equal(forecastDisk([{ atUs: NOW_US - 50 * HOUR_US, freeBytes: 9 }], now, 0), undefined)
})

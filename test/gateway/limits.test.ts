import t from 'tap'
import { describeSettings, type Settings } from '../../src/config/config.js'
import { CROSSINGS, startInTown } from '../support/limits/crossings.js'

/** Small enough that a test crosses each, large enough that it crosses no other one. */
const SMALL: Settings = {
  limits: {
    ...{ bodyBytes: 2048, loaderBodyBytes: 20_000, inlineBodyBytes: 1024, batch: 3, jsonDepth: 12 },
    ...{
      headerBytes: 4096,
      headerMs: 600,
      bodyIdleMs: 1200, // a client on a busy machine is silent for half a second
      bodyMs: 1500,
      keepAliveMs: 300,
      writeIdleMs: 300,
    },
    ...{
      pipelined: 8,
      pageRows: 4,
      streamBatch: 2,
      streamLineBytes: 150_000,
      initRecords: 5,
      meshCells: 100,
    },
    ...{
      modelBytes: 4096,
      modelDataBytes: 1024,
      modelParts: 3,
      nameChars: 24,
      ogcFeatures: 3,
      exportRows: 5,
    },
  },
  routing: {
    maxVia: 2,
    maxThemes: 2,
    maxAvoidPolygons: 2,
    maxAvoidPositions: 30,
    maxAlternatives: 2,
    maxMatrixPoints: 2,
    maxSnapM: 50,
  },
}

/** Every setting that refuses something when it is crossed. */
const isLimit = (setting: string) =>
  /^limits\.|^routing\.max|^routing\.timeLimitMs$|^reads\.(?:maxQueue|timeLimitMs)$/.test(setting)

t.test('limits: each setting that limits something is crossed here', async (t) => {
  const limits = describeSettings()
    .map(({ path }) => path)
    .filter(isLimit)
  t.ok(limits.length > 30)
  t.same(
    limits.filter((setting) => CROSSINGS[setting] === undefined),
    [],
    'a new limit needs a crossing in test/support/limits',
  )
  t.same(
    Object.keys(CROSSINGS).filter((setting) => !limits.includes(setting)),
    [],
    'and an old one goes with it',
  )
})

t.test('limits: crossed one after the other, and the gateway serves on', async (t) => {
  const shared = await startInTown(t, SMALL)
  for (const [setting, { settings, cross }] of Object.entries(CROSSINGS)) {
    if (settings === undefined) await t.test(setting, (t) => cross(t, shared))
  }
  t.equal((await fetch(`${shared.url}/readyz`)).status, 200)
  const faults = shared.logLines.filter(({ level }) => level === 'error')
  t.same(faults, [], 'nothing of it was a fault of the gateway')
})

import t from 'tap'
import { openRowFile } from '../../src/tabular/formats/open.js'
import { bestKey, createKeyCounter } from '../../src/tabular/key-counter.js'
import { createKeySet } from '../../src/tabular/key-set.js'
import { keyCandidates, proposePlan } from '../../src/tabular/plan.js'
import { surveyFile, surveyRecords } from '../../src/tabular/survey.js'

t.test('key set: texts are told apart, also when it has grown', async (t) => {
  const set = createKeySet()
  let again = 0
  for (let n = 0; n < 100_000; n++) if (!set.add(`key ${n}`)) again++
  t.equal(again, 0)
  t.equal(set.size(), 100_000)
  for (let n = 0; n < 100_000; n += 997) if (set.add(`key ${n}`)) again++
  t.equal(again, 0)
  t.equal(set.put('new', 7), undefined)
  t.equal(set.put('new', 8), 7)
})

t.test('key counter: the same instant is the same key, whatever its offset', async (t) => {
  const counter = createKeyCounter(['start_datetime'])
  const add = (start_datetime: unknown, place: number) =>
    counter.add({ type: 'Feature', geometry: null, properties: { start_datetime } }, place)
  add('2026-01-01T10:00:00Z', 2)
  add('2026-01-01 19:00:00+09', 3)
  add('2026-01-01 10:00', 4)
  add(null, 5)
  t.match(counter.count(), { shared: 1, missing: 1, isWhole: true, examples: [{ first: 2, second: 3 }] })
})

t.test('survey: a file is read as a whole before anything is proposed', async (t) => {
  const lines = Array.from({ length: 5000 }, (_, at) => {
    const hour = String(at % 24).padStart(2, '0')
    return `s${at % 3},2026-01-01T${hour}:00Z,${at},${at === 4999 ? 200 : 140},35`
  })
  const file = await openRowFile(new Blob([`station,time,n,lng,lat\n${lines.join('\n')}`]), 'a.csv')
  const survey = await surveyFile(file)
  t.equal(survey.rowCount, 5000)
  t.equal(survey.sample.length, 20)
  const plan = proposePlan(survey.columns, survey.hasGeometry)
  t.same(plan.place, undefined, '200 is no longitude')
  const keys = keyCandidates(plan, survey.columns, survey.rowCount)
  const { keys: counts } = await surveyRecords(file, plan, keys)
  t.same(keys[0], ['station', 'start_datetime'])
  t.match(counts[0], { shared: 4976, examples: [{ first: 2, second: 26, key: /^station "s0"/ }] })
  t.same(bestKey(counts)?.columns, ['n'])
})

t.test('survey: places outside the Earth are counted, and some records are kept for a map', async (t) => {
  const features = Array.from({ length: 5000 }, (_, at) => ({
    type: 'Feature',
    geometry: at === 0 ? null : { type: 'Point', coordinates: [at < 3 ? 300 : 10, 50 + at / 1000] },
    properties: { id: at },
  }))
  const text = JSON.stringify({ type: 'FeatureCollection', features })
  const file = await openRowFile(new Blob([text]), 'a.geojson')
  const { hasGeometry, columns } = await surveyFile(file)
  const found = await surveyRecords(file, proposePlan(columns, hasGeometry), [['id'], ['location']])
  t.match(found, { nowhere: 1, badPlaces: { count: 2, place: 2 }, keys: [{ shared: 0 }, { missing: 1 }] })
  t.ok(found.mapped.length > 500 && found.mapped.length < 2000)
  t.same(found.bbox?.[0], 10)
  t.ok((found.bbox?.[3] ?? 0) > 54.9, 'from every part of the file')
  const stop = AbortSignal.abort(new Error('stopped'))
  await t.rejects(surveyFile(file, { signal: stop }), { message: 'stopped' })
})

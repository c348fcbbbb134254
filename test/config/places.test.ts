import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { linesOf } from '../../src/config/places.js'

t.test('linesOf: settings, nested settings and items of lists', async (t) => {
  const text = `{
    "a": {
      "b": [1, {
        "c": "}\\n\\",{"
      }, [2,
        3]],
      "a \\"name\\".x": null },
    "d": true
  }`
  t.same(Object.fromEntries(linesOf(text)), {
    ...{ a: 2, 'a.b': 3, 'a.b.0': 3, 'a.b.1': 3, 'a.b.1.c': 4, 'a.b.2': 5, 'a.b.2.0': 5, 'a.b.2.1': 6 },
    ...{ 'a.a "name".x': 7, d: 8 },
  })
  t.same(linesOf('[]').size, 0)
})

/** Faults of a settings file, one a line. */
function faultsOf(t: Test, content: string): string[] {
  const file = path.join(t.testdir(), 'mine.json')
  writeFileSync(file, content)
  const loaded = loadConfig(file)
  return 'faults' in loaded
    ? loaded.faults.map((fault) => `${path.basename(fault.path)}: ${fault.message}`)
    : []
}

t.test('config: a fault names the line of its file, or that of the setting around it', async (t) => {
  const broker = '{"url": "mqtt://127.0.0.1:1883"}'
  const content = `{\n"server": {\n"hots": 1},\n"ingest": {"mqtt": {\n"brokers": [\n${broker}]}}}`
  t.match(faultsOf(t, content), [
    /^server\.hots: is not a setting, expected only .* \(mine\.json, line 3\)$/,
    /^ingest\.mqtt\.brokers\.0\.name: found nothing, expected .* \(mine\.json, line 6\)$/,
  ])
  t.match(faultsOf(t, '{\n\n"server": {"tlsCertFile": "a.pem"}}'), [
    /^server\.tlsCertFile: .* \(mine\.json, line 3\)$/,
  ])
})

t.test(
  'config: faults of lists and objects of the environment name the variable, those of the file its line',
  async (t) => {
    const file = path.join(t.testdir(), 'mine.json')
    writeFileSync(
      file,
      '{"server": {\n"openTo": [\n"/metrics",\n"/livez"]},\n"riskmap": {"themes": {\n"flood": 1}}}',
    )
    const env = { FIELDGATE_SERVER__OPEN_TO: '["/metrics", 5]', FIELDGATE_RISKMAP__THEMES: '{"rain": 2}' }
    const loaded = loadConfig(file, env)
    t.match(
      'faults' in loaded ? new Map(loaded.faults.map((fault) => [fault.path, fault.message])) : [],
      new Map([
        ['server.openTo.1', /\(from the environment, FIELDGATE_SERVER__OPEN_TO\)$/],
        ['riskmap.themes.rain', /\(from the environment, FIELDGATE_RISKMAP__THEMES\)$/],
        ['riskmap.themes.flood', /\(mine\.json, line 6\)$/],
      ]),
    )
  },
)

t.test('config: a file that holds no object', async (t) => {
  t.same(faultsOf(t, ' \n'), ['mine.json: is empty, expected a JSON object; {} uses all defaults'])
  t.same(faultsOf(t, '[1]'), ['mine.json: found an array of 1, expected a JSON object'])
  t.match(faultsOf(t, '{"a": 1,}'), [/^mine\.json: is not JSON: .*line 1 column 9/])
  const folder = loadConfig(t.testdir())
  t.match(folder, { faults: [{ message: 'is a directory, expected a settings file' }] })
})

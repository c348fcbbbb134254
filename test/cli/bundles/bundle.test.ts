import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { introduce, verbsOf } from '../../support/bundles.js'

t.test('bundle: peers are added, listed and removed by name', async (t) => {
  const dir = t.testdir()
  const [van, base] = [verbsOf(dir, 'van'), verbsOf(dir, 'base')]
  for (const { run } of [van, base]) await run(['init'])
  t.match(await van.bundle(['write', 'x'], 1), /no keys of another gateway are known/)
  await introduce(dir, van, base, ['--relay'])
  const [peer] = JSON.parse(await base.bundle(['peer', 'list', '--json']))
  t.match(peer, { name: 'van', relay: true, endpoint: null, fingerprint: /^([0-9a-f]{4} ){7}[0-9a-f]{4}$/ })
  t.match(await base.bundle(['peer', 'list']), /^van {2}[0-9a-f-]{36} {2}[0-9a-f ]{39} {2}relay\n$/)
  const add = (name: string, file: string, code = 1) =>
    van.bundle(['peer', 'add', name, '--key-file', path.join(dir, file)], code)
  t.match(await add('base', 'base.identity'), /the name base or the node .* is known already/)
  t.match(await add('me', 'van.identity'), /is the identity of this gateway itself/)
  t.match(await add('x', 'none'), /the file does not exist/)
  writeFileSync(path.join(dir, 'bad'), '{}')
  t.match(await add('x', 'bad'), /bad: fieldgate_identity: found nothing, expected 1/)
  t.match(await add('a b', 'base.identity', 2), /Expected 1 to 63 letters/)
  t.match(await van.bundle(['write', 'x', '--for', 'nobody'], 1), /no gateway nobody is known/)
  t.match(await van.bundle(['write', 'none/x'], 1), /the folder .* does not exist/)
  t.match(await van.bundle(['write', 'x', '--max-bytes', '1k'], 2), /Expected a whole number of bytes/)
  t.match(await van.bundle(['write', 'x']), /^For base: 0 rows, 0 models/)
  t.match(await base.bundle(['apply', 'x']), /^van: nothing new\n$/)
  t.match(await van.bundle(['combine', 'two', 'x', 'x']), /^2 bundles are in /)
  t.match(await base.bundle(['apply', 'van.settings.json'], 1), /found other bytes at its beginning/)
  await van.bundle(['peer', 'remove', 'base'])
  t.match(await van.bundle(['peer', 'remove', 'base'], 1), /no gateway base is known/)
  t.equal(await van.bundle(['peer', 'list']), '')
})

t.test('bundle: an upstream without a network has neither address nor key', async (t) => {
  const dir = t.testdir()
  const van = verbsOf(dir, 'van')
  await van.run(['init'])
  t.match(
    await van.run(['sync', 'upstream', 'add', 'base', '--no-network']),
    /Feeds can go to base in bundles/,
  )
  t.equal(await van.run(['sync', 'upstream', 'list']), 'base  in bundles\n')
  const add = (...flags: string[]) => van.run(['sync', 'upstream', 'add', 'x', ...flags], 2)
  t.match(await add(), /found none of them, expected --endpoint and --key-file, or --no-network alone/)
  t.match(await add('--endpoint', 'https://x.example'), /found --endpoint, expected/)
  t.match(await add('--endpoint', 'https://x.example', '--no-network'), /found --endpoint and --no-network/)
})

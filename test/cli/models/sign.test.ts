import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { cli } from '../../support/run-cli.js'
import { newKeyPair } from '../../support/signing-keys.js'

t.test('cli model sign and verify: a file and a directory, each fault with its reason', async (t) => {
  const dir = t.testdir({ 'm.dat': 'weights', tree: { a: '1', b: { c: '2' } } })
  const keys = newKeyPair()
  writeFileSync(path.join(dir, 'key.pem'), keys.privatePem)
  writeFileSync(path.join(dir, 'pub.pem'), keys.publicPem)
  writeFileSync(path.join(dir, 'other.pem'), newKeyPair('P-521').publicPem)
  const run = (...argv: string[]) => cli(dir, ['model', ...argv])
  t.match(await run('sign', 'm.dat', '--key', 'key.pem'), { code: 0, stdout: '', stderr: /m\.dat\.sig/ })
  const verify = (model: string, signature: string, key = 'pub.pem', ...more: string[]) =>
    run('verify', model, '--signature', signature, '--key', key, ...more)
  t.match(await verify('m.dat', 'm.dat.sig'), { code: 0, stdout: /^valid: 1 file, key [0-9a-f]{64}\n$/ })
  const json = JSON.parse((await verify('m.dat', 'm.dat.sig', 'pub.pem', '--json')).stdout)
  t.match(json, { signature: 'valid', files: 1 })
  t.match(await verify('m.dat', 'm.dat.sig', 'other.pem'), { code: 1, stderr: /the key \w+ is not trusted/ })
  t.match(await verify('m.dat', 'm.dat.sig', 'key.pem'), { code: 1, stderr: /key\.pem: found a private key/ })
  t.match(await verify('none', 'm.dat.sig'), { code: 1, stderr: /none: the file does not exist/ })
  t.match(await verify('m.dat', 'none.sig'), { code: 1, stderr: /none\.sig: the file does not exist/ })
  t.match(await run('sign', 'm.dat', '--key', 'pub.pem', '-o', 'x.sig'), {
    code: 1,
    stderr: /no PEM private key/,
  })
  t.match(await run('sign', 'm.dat', '--key', 'key.pem'), { code: 1, stderr: /EEXIST|exists/ })
  t.match(await run('sign', 'm.dat', '--key', 'key.pem', '-o', 'no/x.sig'), {
    code: 1,
    stderr: /does not exist/,
  })

  t.equal((await run('sign', 'tree', '--key', 'key.pem', '-o', 'tree/model.sig')).code, 0)
  t.match(await verify('tree', 'tree/model.sig'), { code: 0, stdout: /^valid: 2 files/ })
  writeFileSync(path.join(dir, 'tree/b/c'), '3')
  t.match(await verify('tree', 'tree/model.sig'), { code: 1, stderr: /"b\/c": found the SHA-256/ })
  writeFileSync(path.join(dir, 'tree/b/c'), '2')
  mkdirSync(path.join(dir, 'tree/b/d'))
  writeFileSync(path.join(dir, 'tree/b/d/e'), '')
  t.match(await verify('tree', 'tree/model.sig'), { code: 1, stderr: /"b\/d\/e" exists and is not signed/ })
})

t.test('cli model put, list and get with a signature', async (t) => {
  const dir = t.testdir({ 'm.dat': 'weights' })
  const keys = newKeyPair()
  writeFileSync(path.join(dir, 'key.pem'), keys.privatePem)
  writeFileSync(path.join(dir, 'pub.pem'), keys.publicPem)
  const trusted = { FIELDGATE_MODELSTORE__TRUSTEDKEYS: JSON.stringify([keys.publicPem]) }
  const strict = { ...trusted, FIELDGATE_MODELSTORE__REQUIRESIGNATURE: 'true' }
  const run = (env: Record<string, string>, ...argv: string[]) =>
    cli(dir, [...argv, '--data-dir', path.join(dir, 'data')], env)
  await run({}, 'init')
  await run({}, 'model', 'sign', 'm.dat', '--key', 'key.pem')
  const put = ['model', 'put', 'm.dat', '--store', 'rain']
  t.match(await run(strict, ...put), { code: 1, stderr: /found no signature.*modelStore\.requireSignature/ })
  const signed = await run(strict, ...put, '--signature', 'm.dat.sig', '--json')
  const info = JSON.parse(signed.stdout)
  t.equal(info.signature, 'valid')
  t.match(await run({}, ...put, '--signature', 'none'), { code: 1, stderr: /none: the file does not exist/ })
  t.match((await run(trusted, 'model', 'list', '--store', 'rain')).stdout, /signature valid\n$/)
  t.match((await run({}, 'model', 'list', '--store', 'rain')).stdout, /signature unknown_key\n$/)
  t.equal((await run({}, 'model', 'get', info.model_id, '-o', 'out', '--signature', 'out.sig')).code, 0)
  t.equal(readFileSync(path.join(dir, 'out.sig'), 'utf8'), readFileSync(path.join(dir, 'm.dat.sig'), 'utf8'))
  const plain = JSON.parse((await run({}, ...put, '--json')).stdout)
  t.match(await run({}, 'model', 'get', plain.model_id, '-o', 'o2', '--signature', 's2'), {
    code: 1,
    stderr: /has no signature/,
  })
  const broken = { FIELDGATE_MODELSTORE__TRUSTEDKEYS: '["none.pem"]' }
  t.match(await run(broken, 'doctor', '--offline'), { code: 2, stdout: /trustedKeys\.0: none\.pem: ENOENT/ })
})

// npm run release:sign -- keygen KEY.pem | sign FILE… --key KEY.pem
// keygen makes the key that signs releases and prints what devices put into update.publicKey; sign writes FILE.sig.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    key: { type: 'string' },
    // of a file that is not named fieldgate-VERSION-TARGET
    version: { type: 'string' },
    target: { type: 'string' },
  },
})
const [act, ...files] = positionals
if (act === 'keygen' && files.length === 1) keygen(files[0])
else if (act === 'sign' && files.length > 0 && values.key !== undefined)
  for (const file of files) await signFile(file, createPrivateKey(readFileSync(values.key)))
else {
  console.error('release-sign: expected "keygen KEY.pem" or "sign FILE… --key KEY.pem"')
  process.exit(2)
}

function keygen(file) {
  const { privateKey } = generateKeyPairSync('ed25519')
  // never over a key that devices trust
  writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx' })
  console.log(publicKeyOf(privateKey))
}

async function signFile(file, privateKey) {
  const named = /^fieldgate-(\d+\.\d+\.\d+.*)-(linux-(?:x64|arm64))$/.exec(path.basename(file))
  const version = values.version ?? named?.[1]
  const target = values.target ?? named?.[2]
  if (version === undefined || target === undefined)
    throw new Error(`${file}: expected a name fieldgate-VERSION-TARGET, or --version and --target`)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  const { formatStatement, readStatement } = await statements()
  const text = formatStatement({
    version,
    target,
    sizeBytes: statSync(file).size,
    sha256: hash.digest('hex'),
  })
  const signed = `${text}signature: ${sign(null, Buffer.from(text), privateKey).toString('base64')}\n`
  readStatement(signed, publicKeyOf(privateKey)) // as a device will
  writeFileSync(`${file}.sig`, signed)
  console.log(`${file}.sig: ${version} for ${target}`)
}

/** The 32 bytes at the end of the DER form, in base64. */
function publicKeyOf(privateKey) {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return der.subarray(-32).toString('base64')
}

/** The program's own form of the statement. */
async function statements() {
  const { outputFiles } = await build({
    entryPoints: ['src/update/statement.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`)
}

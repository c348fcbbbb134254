// Run by the build's Node as `compile.cjs PARTS OUT DATA`: starts the gateway of a prepared data directory, and keeps the
// code that V8 compiled for it, a file for each part. Unlike code kept before anything ran, it holds the functions that a
// start needs. The parts of methods are loaded once too, for their first call.
const { readFileSync, writeFileSync } = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const v8 = require('node:v8')
const { Script } = require('node:vm')

const [parts, out, dataDir] = process.argv.slice(2)
const scripts = new Map()
// no timer fires: what runs must not depend on how fast this machine is
const later = globalThis.setTimeout
for (const name of ['setTimeout', 'setInterval']) globalThis[name] = (act) => later(act, 2 ** 30)
// V8 refuses kept code when its flags are others, and a start reads the code before the program sets its own
v8.setFlagsFromString = () => undefined
const write = process.stdout.write.bind(process.stdout)
process.stdout.write = (text, ...rest) => {
  if (!text.includes('"event":"ready"')) return write(text, ...rest)
  void keepAll(JSON.parse(text).url)
  return true
}
const verb = ['serve', '--data-dir', dataDir, '--host', '127.0.0.1', '--port', '0', '--json']
process.argv.splice(1, Number.POSITIVE_INFINITY, path.join(parts, 'main.js'), ...verb)
read('main.js')(require, read, process.argv[1], parts)

function read(name) {
  const script = new Script(readFileSync(path.join(parts, name), 'latin1'), { filename: name })
  scripts.set(name, script)
  return script.runInThisContext()
}

async function keepAll(url) {
  await get(`${url}/healthz`)
  const ofStart = new Map([...scripts].map(([name, script]) => [name, script.createCachedData()]))
  await get(`${url}/openrpc.json`)
  for (const [name, script] of scripts)
    writeFileSync(path.join(out, name), ofStart.get(name) ?? script.createCachedData())
  process.exit()
}

function get(url) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false }, (response) => response.resume().on('end', resolve))
    request.on('error', reject)
  })
}

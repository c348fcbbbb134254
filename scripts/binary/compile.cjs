// Run by the build's Node as `compile.cjs BUNDLE OUT VERB…`: runs a verb of the bundle, then keeps the code that V8
// compiled for it. Unlike code kept before anything ran, it holds the functions that each start needs.
const { readFileSync, writeFileSync } = require('node:fs')
const { Script } = require('node:vm')

const [bundle, out, ...verb] = process.argv.slice(2)
const script = new Script(readFileSync(bundle, 'latin1'), { filename: 'fieldgate.cjs' })
process.argv.splice(1, Number.POSITIVE_INFINITY, bundle, ...verb)
process.on('exit', () => writeFileSync(out, script.createCachedData()))
script.runInThisContext()(exports, require, module, bundle, __dirname)

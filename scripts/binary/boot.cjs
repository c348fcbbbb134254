// First code of the executable: runs the program that lies inside it in parts, with the code that V8 compiled at the build.
const { getAssetKeys, getRawAsset } = require('node:sea')
const { Script } = require('node:vm')

const names = new Set(getAssetKeys())
read('main.js')(require, read, __filename, __dirname)

/** Returns what a part is: a function. */
function read(name) {
  // one byte a character, as the bundler writes it
  const source = bytesOf(name).latin1Slice()
  const options = { filename: name }
  // refused by V8, and then compiled anew, where flags or machine differ from the build's
  if (names.has(`code/${name}`)) options.cachedData = Buffer.from(getRawAsset(`code/${name}`))
  return new Script(source, options).runInThisContext()
}

/** Parts that every start reads lie there as they are, the others packed. */
function bytesOf(name) {
  if (names.has(`parts/${name}`)) return Buffer.from(getRawAsset(`parts/${name}`))
  return require('node:zlib').brotliDecompressSync(Buffer.from(getRawAsset(`packed/${name}`)))
}

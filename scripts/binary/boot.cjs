// First code of the executable: runs the bundle that lies inside it, with the code that V8 compiled at the build.
const { getAssetKeys, getRawAsset } = require('node:sea')
const { Script } = require('node:vm')

// one byte a character, as the bundler writes it
const source = Buffer.from(getRawAsset('fieldgate.cjs')).latin1Slice()
const options = { filename: 'fieldgate.cjs' }
// refused by V8, and then compiled anew, where flags or machine differ from the build's
if (getAssetKeys().includes('fieldgate.code')) options.cachedData = Buffer.from(getRawAsset('fieldgate.code'))
new Script(source, options).runInThisContext()(exports, require, module, __filename, __dirname)

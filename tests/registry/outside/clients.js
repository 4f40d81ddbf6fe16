// Two clients of npm: they register, write and read in each format, and say what was refused.
const [url] = process.argv.slice(2)
const { SchemaRegistry, SchemaType } = require('@kafkajs/confluent-schema-registry')
const { SchemaRegistryClient, AvroSerializer, AvroDeserializer, JsonSerializer, JsonDeserializer, ProtobufSerializer, SerdeType } = require('@confluentinc/schemaregistry')

async function kafkajs() {
  const registry = new SchemaRegistry({ host: url })
  const avro = { type: 'record', name: 'Order', namespace: 'js', fields: [{ name: 'id', type: 'int' }] }
  const { id } = await registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(avro) })
  const order = await registry.decode(await registry.encode(id, { id: 7 }))
  if (order.id !== 7) throw new Error('avro')
  const proto = 'syntax = "proto3"; message P { int32 id = 1; }'
  const p = await registry.register({ type: SchemaType.PROTOBUF, schema: proto }, { subject: 'js-proto' })
  if ((await registry.decode(await registry.encode(p.id, { id: 8 }))).id !== 8) throw new Error('protobuf')
  const j = await registry.register({ type: SchemaType.JSON, schema: JSON.stringify({ type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }) }, { subject: 'js-json' })
  if ((await registry.decode(await registry.encode(j.id, { id: 9 }))).id !== 9) throw new Error('json')
  try {
    await registry.encode(j.id, { id: 'x' }); throw new Error('it took what does not fit')
  } catch (error) { if (/took/.test(error.message)) throw error }
  try {
    await registry.register({ type: SchemaType.AVRO, schema: JSON.stringify({ ...avro, fields: [{ name: 'other', type: 'int' }] }) })
    throw new Error('it took what is incompatible')
  } catch (error) { if (!/incompatible/.test(error.message) || /took/.test(error.message)) throw error }
  const again = await registry.getLatestSchemaId('js.Order')
  if (again !== id) throw new Error('latest')
}

async function confluent() {
  const client = new SchemaRegistryClient({ baseURLs: [url] })
  const avro = JSON.stringify({ type: 'record', name: 'C', fields: [{ name: 'id', type: 'int' }] })
  await client.register('js-confluent-value', { schemaType: 'AVRO', schema: avro })
  const ser = new AvroSerializer(client, SerdeType.VALUE, { useLatestVersion: true })
  const de = new AvroDeserializer(client, SerdeType.VALUE, {})
  const back = await de.deserialize('js-confluent', await ser.serialize('js-confluent', { id: 5 }))
  if (back.id !== 5) throw new Error('avro')
  const json = JSON.stringify({ type: 'object', properties: { id: { type: 'integer' } } })
  await client.register('js-cjson-value', { schemaType: 'JSON', schema: json })
  const jser = new JsonSerializer(client, SerdeType.VALUE, { useLatestVersion: true })
  const jde = new JsonDeserializer(client, SerdeType.VALUE, {})
  if ((await jde.deserialize('js-cjson', await jser.serialize('js-cjson', { id: 6 }))).id !== 6) throw new Error('json')
  const found = await client.getLatestSchemaMetadata('js-confluent-value')
  if (found.version !== 1) throw new Error('latest')
  if (!(await client.testSubjectCompatibility('js-confluent-value', { schemaType: 'AVRO', schema: avro }))) throw new Error('compatibility')
  if ((await client.getAllSubjects()).indexOf('js-confluent-value') < 0) throw new Error('subjects')
  if ((await client.getBySubjectAndId('js-confluent-value', found.id)).schema !== avro) throw new Error('by id')
  await client.updateCompatibility('js-confluent-value', 'FULL')
  if ((await client.getCompatibility('js-confluent-value')) !== 'FULL') throw new Error('config')
  await client.deleteSubject('js-confluent-value')
}

kafkajs().then(() => { console.log('kafkajs ok'); return confluent() }).then(() => { console.log('confluent ok'); process.exit(0) }).catch((e) => { console.error(e); process.exit(1) })

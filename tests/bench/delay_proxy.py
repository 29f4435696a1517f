"""Relays TCP connections, counts the bytes in each direction, and delays every byte.

usage: delay_proxy.py DELAY_MS LISTEN_ADDRESS FIRST_PORT TARGET...

Port FIRST_PORT + i leads to port 22 of the i-th TARGET. Each direction is delayed by DELAY_MS, so the round-trip time
grows by twice that. Prints "ready", then one line for every connection that ends:
PORT BYTES_TO_TARGET BYTES_FROM_TARGET ROUND_TRIPS.
A round trip is counted when the client sends after the server has sent.
"""
import asyncio
import sys


class Conversation:
    def __init__(self):
        self.bytes = {"client": 0, "server": 0}
        self.speaker = "server"
        self.round_trips = 0

    def heard(self, speaker, count):
        self.bytes[speaker] += count
        if speaker == "client" and self.speaker == "server":
            self.round_trips += 1
        self.speaker = speaker


async def relay(reader, writer, speaker, conversation, delay):
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue()

    async def deliver():
        while True:
            due, data = await queue.get()
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    delivery = asyncio.create_task(deliver())
    try:
        while data := await reader.read(65536):
            conversation.heard(speaker, len(data))
            queue.put_nowait((loop.time() + delay, data))
    except ConnectionError:
        pass
    queue.put_nowait((loop.time() + delay, b""))
    try:
        await delivery
    except ConnectionError:
        pass


async def serve(delay, address, port, target):
    async def on_connection(client_reader, client_writer):
        conversation = Conversation()
        # The TCP handshake costs one more round trip.
        await asyncio.sleep(2 * delay)
        server_reader, server_writer = await asyncio.open_connection(target, 22)
        await asyncio.gather(
            relay(client_reader, server_writer, "client", conversation, delay),
            relay(server_reader, client_writer, "server", conversation, delay),
        )
        sent, received = conversation.bytes["client"], conversation.bytes["server"]
        print(port, sent, received, conversation.round_trips, flush=True)

    await asyncio.start_server(on_connection, address, port)


async def main(delay_ms, address, first_port, *targets):
    for i, target in enumerate(targets):
        await serve(float(delay_ms) / 1000, address, int(first_port) + i, target)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

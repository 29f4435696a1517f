#!/usr/bin/env python3
"""An NVMe target over TCP without namespaces, whose controllers name another subsystem than the one that was asked for.

usage: false_nvme_target.py PORT NQN

It answers a Connect to any subsystem. Identify Controller reports NQN and more than one controller.
Source: NVMe over TCP transport 1.0, section 3.6; NVMe over Fabrics 1.1; NVM Express base specification 1.4, section 5.15.
"""
import socket
import socketserver
import struct
import sys

IC_REQUEST, IC_RESPONSE, COMMAND, RESPONSE, DATA_TO_HOST = 0, 1, 4, 5, 7
LAST_OF_DATA = 4
FABRICS, PROPERTY_SET, CONNECT, PROPERTY_GET = 0x7F, 0x00, 0x01, 0x04
GET_LOG_PAGE, IDENTIFY, SET_FEATURES, ASYNC_EVENT, KEEP_ALIVE = 0x02, 0x06, 0x09, 0x0C, 0x18
CAPABILITIES, VERSION, CONFIGURATION, STATUS = 0x00, 0x08, 0x14, 0x1C
NUMBER_OF_QUEUES, CONTROLLER = 7, 1
CONTROLLER_ID = 77
VERSION_1_4 = 0x10400


def identity(nqn):
    page = bytearray(4096)
    page[4:24] = b"false".ljust(20)  # Serial number.
    page[24:64] = b"false target".ljust(40)
    page[64:72] = b"1".ljust(8)
    page[76] = 2  # The subsystem may have several controllers.
    struct.pack_into("<HI", page, 78, CONTROLLER_ID, VERSION_1_4)
    page[111] = 1  # An I/O controller.
    struct.pack_into("<H", page, 320, 100)  # Keep-alives, in units of 100 ms.
    struct.pack_into("<BBII", page, 342, 10, 2, 1, 1)  # Accesses of namespaces may be asymmetric: time, kind, groups.
    page[512], page[513] = 0x66, 0x44  # Sizes of the queues' entries.
    struct.pack_into("<HI", page, 514, 64, 1)  # Commands at a time; namespaces.
    struct.pack_into("<II", page, 536, 1 << 20 | 1, 1)  # Data behind a command; at most so many namespaces.
    page[768:768 + len(nqn)] = nqn.encode()
    struct.pack_into("<IIH", page, 1792, 4, 1, 0)  # Sizes of commands and responses, in 16 bytes.
    return bytes(page)


class Connection(socketserver.BaseRequestHandler):
    def setup(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.enabled = self.heads = 0

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.request.recv(count - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def handle(self):
        try:
            while True:
                kind, length = struct.unpack("<B3xI", self.exactly(8))
                body = self.exactly(length - 8)
                if kind == IC_REQUEST:
                    self.request.sendall(struct.pack("<BBBBI", IC_RESPONSE, 0, 128, 0, 128) +
                                         struct.pack("<HBBI", 0, 0, 0, 1 << 17).ljust(120, b"\0"))
                elif kind == COMMAND:
                    self.answer(body[:64])
        except OSError:
            pass

    def respond(self, command_id, result=0, status=0):
        self.heads += 1
        entry = struct.pack("<QHHHH", result, self.heads % 32, 0, command_id, status << 1)
        self.request.sendall(struct.pack("<BBBBI", RESPONSE, 0, 24, 0, 24) + entry)

    def send(self, command_id, data):
        head = struct.pack("<BBBBIHHII4x", DATA_TO_HOST, LAST_OF_DATA, 24, 24, 24 + len(data), command_id, 0, 0, len(data))
        self.request.sendall(head + data)
        self.respond(command_id)

    def answer(self, entry):
        opcode, command_id = entry[0], struct.unpack_from("<H", entry, 2)[0]
        if opcode == FABRICS:
            self.answer_fabrics(entry, command_id)
        elif opcode == IDENTIFY:
            self.send(command_id, self.server.identity if entry[40] == CONTROLLER else bytes(4096))
        elif opcode == GET_LOG_PAGE:
            words = struct.unpack_from("<I", entry, 40)[0] >> 16
            self.send(command_id, bytes(4 * (words + 1)))
        elif opcode == SET_FEATURES and entry[40] == NUMBER_OF_QUEUES:
            self.respond(command_id, 0)  # One queue each.
        elif opcode != ASYNC_EVENT:
            self.respond(command_id)

    def answer_fabrics(self, entry, command_id):
        kind = entry[4]
        if kind == CONNECT:
            return self.respond(command_id, CONTROLLER_ID)
        offset = struct.unpack_from("<I", entry, 44)[0]
        if kind == PROPERTY_SET:
            if offset == CONFIGURATION:
                self.enabled = struct.unpack_from("<Q", entry, 48)[0]
            return self.respond(command_id)
        is_ready, ends = self.enabled & 1, (self.enabled >> 14) & 3
        values = {CAPABILITIES: 127 | 1 << 16 | 15 << 24 | 1 << 37, VERSION: VERSION_1_4,
                  CONFIGURATION: self.enabled, STATUS: is_ready | (2 << 2 if ends else 0)}
        return self.respond(command_id, values.get(offset, 0))


class Target(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if __name__ == "__main__":
    with Target(("0.0.0.0", int(sys.argv[1])), Connection) as target:
        target.identity = identity(sys.argv[2])
        target.serve_forever()

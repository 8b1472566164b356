// ns-3's part of scripts/bench-sim: a two-level tree of 8 leaves with 8 hosts each and 8 spines, 12.5 GB/s cables, every host
// sends UDP packets of 4096 bytes to eight random others at half of its rate. Prints the packets put on cables.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <iostream>
#include <random>
#include <string>
#include <vector>

using namespace ns3;

static uint64_t sent = 0;
static void Count(Ptr<const Packet>) { ++sent; }

int main(int argc, char** argv)
{
    const double microseconds = argc > 1 ? std::stod(argv[1]) : 200, load = argc > 2 ? std::stod(argv[2]) : 0.5;
    const int leaves = 8, per = 8, spines = 8, fans = 8;
    NodeContainer hosts, switches;
    hosts.Create(leaves * per);
    switches.Create(leaves + spines);
    InternetStackHelper internet;
    internet.Install(hosts);
    internet.Install(switches);
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    cable.SetDeviceAttribute("Mtu", UintegerValue(9000));
    cable.SetChannelAttribute("Delay", StringValue("100ns"));
    cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> address;
    auto link = [&](Ptr<Node> a, Ptr<Node> b) {
        NetDeviceContainer devices = cable.Install(a, b);
        for (int i = 0; i < 2; ++i) devices.Get(i)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Count));
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces.GetAddress(0);
    };
    for (int h = 0; h < leaves * per; ++h) address.push_back(link(hosts.Get(h), switches.Get(h / per)));
    for (int l = 0; l < leaves; ++l)
        for (int s = 0; s < spines; ++s) link(switches.Get(l), switches.Get(leaves + s));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    std::mt19937 random(7);
    const Time end = MicroSeconds(static_cast<uint64_t>(microseconds));
    for (int h = 0; h < leaves * per; ++h) {
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink.Install(hosts.Get(h)).Stop(end);
        for (int f = 0; f < fans; ++f) {
            int to = (h + 1 + static_cast<int>(random() % (leaves * per - 1))) % (leaves * per);
            OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(address[to], 9));
            source.SetConstantRate(DataRate(static_cast<uint64_t>(100e9 * load / fans)), 4096);
            ApplicationContainer app = source.Install(hosts.Get(h));
            app.Start(NanoSeconds(random() % 2600));
            app.Stop(end);
        }
    }
    Simulator::Stop(end);
    Simulator::Run();
    std::cout << sent << std::endl;
    Simulator::Destroy();
}
